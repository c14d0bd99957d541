// tensorflow.DataType: the numbers of element types in TensorFlow's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/ir/shape.h"

namespace smelt {

inline constexpr std::int64_t kTensorflowString = 7;

// "float32", or "type 99" for one without a name here.
std::string tensorflow_type_name(std::int64_t type);
// None for what is not among ours: strings, 8- and 16-bit integers with a sign, complex numbers …
std::optional<DType> dtype_of_tensorflow(std::int64_t type);
std::int64_t tensorflow_type(DType dtype);

}  // namespace smelt
