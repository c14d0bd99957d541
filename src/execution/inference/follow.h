// The checkpoints of a model folder as a run, here or on another machine, brings them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/formats/event_file.h"

namespace smelt {

struct FollowJob {
  std::string model_dir;
  // Locked meanwhile, since another follower's lines would be lost; gets TensorBoard's events.
  std::string folder;
  // Of the run, which may end before it; empty: it is not known.
  std::optional<std::int64_t> last_step;
  double seconds = 1;  // between two looks
  // Once the folder is locked: the newest step that was taken before.
  std::function<std::optional<std::int64_t>()> newest;
  // Which of these steps, ascending, is to be taken; nothing: none of them. A run that is known to
  // be done removes none any more.
  std::function<std::optional<std::int64_t>(const std::vector<std::int64_t>& steps,
                                            bool run_is_done)>
      next;
  // Its scalars for TensorBoard.
  std::function<std::vector<Scalar>(const std::string& path)> evaluate;
  // It is done with, evaluated or passed over: next() must not give it again.
  std::function<void(std::int64_t step, const std::string& path)> done;
};

// Until the checkpoint of the last step is taken, or metrics.jsonl says that the run to that step
// is done, since this began or with nobody working in the folder; and next() gives none. A damaged
// checkpoint, or one that the run has removed meanwhile, is passed over with a logged word.
// UsageError where the folder is locked; Stopped at SIGTERM, SIGINT or SIGHUP.
void follow_checkpoints(const FollowJob& job);

}  // namespace smelt
