// transformers' flax_model.msgpack: a tree of named arrays as flax.serialization writes it.
// Format: https://github.com/msgpack/msgpack/blob/master/spec.md, of which maps, and of an array an
// extension of type 1 that holds [dims, dtype, bytes].
#pragma once

#include <string>

#include "io/formats/lazy_tensor.h"

namespace smelt {

// By the names and in the layout of the same model's other files: "encoder/…/q/kernel" is
// "encoder.….q.weight", transposed. The tree is read now, each array when it is asked for.
// UsageError for what is no such file, and for an array in several pieces (of more than 1 GB).
LazyTensors open_flax_weights(const std::string& path);

}  // namespace smelt
