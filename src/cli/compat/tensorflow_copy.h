// Writes a TensorFlow checkpoint at the end of a run, as the originals do.
#pragma once

#include <string>

namespace smelt::cli {

// Writes model.ckpt-<step> next to the newest checkpoint in model_dir, and the file "checkpoint"
// that names it. Does nothing if there is no checkpoint or if the copy exists. In a multi-host run
// one process writes it.
void leave_tensorflow_checkpoint(const std::string& model_dir);

}  // namespace smelt::cli
