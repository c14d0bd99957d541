// smelt cloud up and down: a TPU machine is made, and deleted.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_up_command(CLI::App& cloud);
void add_down_command(CLI::App& cloud);

}  // namespace smelt
