// A run that an original program began with TensorFlow goes on as one of smelt's.
#pragma once

#include <string>

namespace smelt {

// Where TensorFlow wrote a checkpoint with a step in `model_dir`, and smelt none that is as new,
// it becomes one of smelt's beside it, slots, step and all. One without them stays what it is, with
// a warning where there is nothing else to go on from. `config`: as ConvertJob has it.
void adopt_tensorflow_run(const std::string& model_dir, const std::string& config = {});

}  // namespace smelt
