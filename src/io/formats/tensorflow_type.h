// tensorflow.DataType: the numbers of element types in TensorFlow's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/ir/shape.h"

namespace smelt::io {

inline constexpr std::int64_t kTensorflowString = 7;

// Returns "float32", or "type 99" for an unknown type.
std::string tensorflow_type_name(std::int64_t type);
// Returns nullopt for types that smelt does not support: strings, signed 8- and 16-bit integers,
// complex numbers.
std::optional<compiler::DType> dtype_of_tensorflow(std::int64_t type);
std::int64_t tensorflow_type(compiler::DType dtype);

}  // namespace smelt::io
