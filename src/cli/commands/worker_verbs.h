// What is done on the workers of a machine.
#pragma once

#include <string>
#include <vector>

namespace smelt {

struct WorkerOptions {
  std::string name;  // "NAME" or "USER@NAME"
  std::string zone = "-", project, workers = "0", command, config;
  std::vector<std::string> options;  // of ssh
  std::vector<std::string> flags;    // of ssh itself, as they are
  std::string timeout;               // a length of time; "" = none
  bool internal_ip = false, dry_run = false;
  std::vector<std::string> from;  // of copies; paths "NAME:path" are on the workers
  std::string to;
};

// A command on the workers, its output here; without one a shell of one worker's. ExitStatus of the
// worst where that is not 0.
void run_on_workers(const WorkerOptions& o);
// To all the workers at once, or from each; from several each into its own folder TO/worker-N.
void copy_to_or_from_workers(const WorkerOptions& o);

}  // namespace smelt
