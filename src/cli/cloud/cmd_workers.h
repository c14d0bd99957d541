// smelt cloud ssh, run, logs and cp: commands and files on the workers of a TPU machine.
#pragma once

#include "cli/cloud/worker_verbs.h"

namespace CLI {
class App;
}

namespace smelt::cli {

void add_worker_commands(CLI::App& cloud);

// Adds --worker, --zone, --project and the ssh flags.
void add_worker_options(CLI::App& command, WorkerOptions& o);

}  // namespace smelt::cli
