// A run that an original program began with TensorFlow goes on as one of smelt's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace smelt {

// Where TensorFlow wrote a checkpoint with a step in `model_dir`, and smelt none that is as new,
// it becomes one of smelt's beside it, slots, step and all, with `model` as its config. One without
// them stays what it is.
void adopt_tensorflow_run(const std::string& model_dir, const nlohmann::json& model);

// UsageError where all that `model_dir` holds is such a checkpoint without slots or step: a run
// there would begin anew beside it. `init_flag` names weights to begin with.
void check_not_weights_alone(const std::string& model_dir, const std::string& init_flag);

}  // namespace smelt
