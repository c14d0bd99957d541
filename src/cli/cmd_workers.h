// smelt cloud ssh, run, logs and cp: what is done on the workers of a machine.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_worker_commands(CLI::App& cloud);

}  // namespace smelt
