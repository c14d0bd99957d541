// smelt tpu-vm …: the lines of `gcloud compute tpus tpu-vm`, with its flags.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_tpu_vm_command(CLI::App& app);

}  // namespace smelt
