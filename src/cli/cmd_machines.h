// smelt cloud up, status, stop, start and down: a TPU machine, from being made to being deleted.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_machine_commands(CLI::App& cloud);

}  // namespace smelt
