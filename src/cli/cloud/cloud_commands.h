// Commands for Google Cloud: machines, jobs, storage and pods.
#pragma once

namespace CLI {
class App;
}

namespace smelt::cli {

// smelt cloud: Google Cloud credentials, TPU machines and jobs.
void add_cloud_command(CLI::App& app);

// smelt ctpu: the command line of the retired tool ctpu (tensorflow/tpu, tools/ctpu). Its TPU Nodes
// become TPU VMs.
void add_ctpu_command(CLI::App& app);

// smelt cloud up, status, stop, start and down: create, list, stop, start and delete TPU machines.
void add_machine_commands(CLI::App& cloud);

// smelt pod: shows the rank that a process would have on this machine, and why.
void add_pod_command(CLI::App& app);

// smelt cloud prices: prices of TPUs, with the date of each.
void add_prices_command(CLI::App& cloud);

// smelt tpu-vm: the command line of `gcloud compute tpus tpu-vm`.
void add_tpu_vm_command(CLI::App& app);

}  // namespace smelt::cli
