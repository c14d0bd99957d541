// Runs commands and copies files on the workers of a machine.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

struct WorkerOptions {
  std::string name;  // "NAME" or "USER@NAME"
  std::string zone = "-", project, workers = "0", command, config;
  std::vector<std::string> options;  // ssh -o options
  std::vector<std::string> flags;    // further ssh flags, unchanged
  std::string timeout;               // a duration; empty: none
  bool internal_ip = false, dry_run = false;
  // Sources of a copy; paths "NAME:path" are on the workers.
  std::vector<std::string> from;
  std::string to;
};

// Runs a command on the workers and prints its output; without a command opens a shell on one
// worker. Throws ExitStatus with the worst exit status if it is not 0.
void run_on_workers(const WorkerOptions& o);
// Copies local files to all workers in parallel, or copies from each worker. Copies from several
// workers are stored in TO/worker-N.
void copy_to_or_from_workers(const WorkerOptions& o);

}  // namespace smelt::cli
