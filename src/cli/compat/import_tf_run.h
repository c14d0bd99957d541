// Continues a run that an original program began with TensorFlow.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace smelt::cli {

// Converts the newest TensorFlow checkpoint in `model_dir` into a smelt checkpoint next to it, with
// optimizer slots, step and `model` as its config. Does nothing if `model_dir` has a smelt
// checkpoint of the same or a later step, or if the TensorFlow checkpoint has no slots or no step.
// The destructor deletes the converted checkpoint unless keep() was called, so that nothing remains
// if the run is refused because its model differs. In a multi-host run one process converts.
class AdoptedRun {
 public:
  AdoptedRun(const std::string& model_dir, const Json& model);
  AdoptedRun(const AdoptedRun&) = delete;
  AdoptedRun& operator=(const AdoptedRun&) = delete;
  ~AdoptedRun();

  void keep() { path_.reset(); }

 private:
  void adopt(const std::string& model_dir, const Json& model);

  std::optional<std::string> path_;  // the converted checkpoint, while it may be deleted
};

// Throws UsageError if `model_dir` holds only a TensorFlow checkpoint without slots or step: a run
// there would start from step 0. `init_flag` is the flag that names pretrained weights.
void require_full_checkpoint(const std::string& model_dir, const std::string& init_flag);

}  // namespace smelt::cli
