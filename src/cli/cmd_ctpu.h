// smelt ctpu …: the retired tool ctpu (tensorflow/tpu, tools/ctpu), whose TPU Nodes are TPU VMs
// now.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_ctpu_command(CLI::App& app);

}  // namespace smelt
