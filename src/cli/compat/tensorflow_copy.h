// A run's end as the originals leave it: a checkpoint for programs that read TensorFlow's.
#pragma once

#include <string>

namespace smelt {

// model.ckpt-<step> beside the newest checkpoint in model_dir, and the file "checkpoint" that names
// it. Does nothing where there is no checkpoint, or that one is there already. Of several processes
// one writes it.
void leave_tensorflow_checkpoint(const std::string& model_dir);

}  // namespace smelt
