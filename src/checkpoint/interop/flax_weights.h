// Reads transformers' flax_model.msgpack: a tree of named arrays as flax.serialization writes it.
// Format: https://github.com/msgpack/msgpack/blob/master/spec.md. Only maps are read, and arrays as
// extensions of type 1 that contain [dims, dtype, bytes].
#pragma once

#include <string>

#include "io/formats/lazy_tensor.h"

namespace smelt::checkpoint {

// Opens the arrays under the names and in the layout of the model's PyTorch weights:
// "encoder/…/q/kernel" becomes "encoder.….q.weight", transposed. Reads the tree now and each array
// on demand. Throws UsageError if the file is not in this format or if an array is stored in
// several chunks (more than 1 GB).
io::LazyTensors open_flax_weights(const std::string& path);

}  // namespace smelt::checkpoint
