// Continuous evaluation: processes the checkpoints of a model folder as a training run, on this or
// another machine, writes them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/formats/event_file.h"

namespace smelt::execution {

struct FollowJob {
  std::string model_dir;
  // Output folder, which receives TensorBoard event files. It is locked while following, because
  // two followers would overwrite each other's lines.
  std::string folder;
  // Last step of the run, which may stop earlier; nullopt if it is unknown.
  std::optional<std::int64_t> last_step;
  double seconds = 1;  // polling interval
  // Called once, after the folder was locked. Returns the latest step that an earlier
  // follow_checkpoints() processed, or nullopt.
  std::function<std::optional<std::int64_t>()> newest;
  // Returns the step to evaluate next, or nullopt for none. `steps` are those of the existing
  // checkpoints, ascending. If `run_is_done`, the run does not delete checkpoints any more.
  std::function<std::optional<std::int64_t>(const std::vector<std::int64_t>& steps,
                                            bool run_is_done)>
      next;
  // Evaluates the checkpoint at `path` and returns its scalars for TensorBoard.
  std::function<std::vector<io::Scalar>(const std::string& path)> evaluate;
  // Called after a step was evaluated or skipped. next() must not return it again.
  std::function<void(std::int64_t step, const std::string& path)> done;
};

// Evaluates checkpoints until the last step is evaluated, or until next() returns nullopt and the
// run is finished. The run is finished if metrics.jsonl ends with the end record of a run with this
// last step. An end record that is older than this call does not count while a process works in
// model_dir, because the run was resumed. Skips damaged checkpoints and those that the run has
// deleted in the meantime, and logs this. Throws UsageError if the folder is locked, and Stopped on
// SIGTERM, SIGINT or SIGHUP.
void follow_checkpoints(const FollowJob& job);

}  // namespace smelt::execution
