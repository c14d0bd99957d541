// smelt cloud ssh, run, logs and cp: what is done on the workers of a machine.
#pragma once

#include "cli/commands/worker_verbs.h"

namespace CLI {
class App;
}

namespace smelt {

void add_worker_commands(CLI::App& cloud);

// --worker, --zone, --project and how ssh reaches them.
void add_worker_options(CLI::App& command, WorkerOptions& o);

}  // namespace smelt
