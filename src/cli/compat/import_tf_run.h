// A run that an original program began with TensorFlow goes on as one of smelt's.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace smelt {

// Where TensorFlow wrote a checkpoint with a step in `model_dir`, and smelt none that is as new,
// it becomes one of smelt's beside it, slots, step and all, with `model` as its config; and goes
// away again unless it is kept, for a run of another model is refused. One without slots or step
// stays what it is. Of several processes one does so.
class AdoptedRun {
 public:
  AdoptedRun(const std::string& model_dir, const Json& model);
  AdoptedRun(const AdoptedRun&) = delete;
  AdoptedRun& operator=(const AdoptedRun&) = delete;
  ~AdoptedRun();

  void keep() { path_.reset(); }

 private:
  void adopt(const std::string& model_dir, const Json& model);

  std::optional<std::string> path_;  // of the checkpoint, while it may go away
};

// UsageError where all that `model_dir` holds is such a checkpoint without slots or step: a run
// there would begin anew beside it. `init_flag` names weights to begin with.
void check_not_weights_alone(const std::string& model_dir, const std::string& init_flag);

}  // namespace smelt
