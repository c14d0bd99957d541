#include "io/formats/tensorflow_type.h"

#include <algorithm>

#include "base/error.h"

namespace smelt::io {
namespace {

struct TensorflowType {
  std::int64_t type;
  std::string_view name;
  std::optional<compiler::DType> dtype;
};
constexpr TensorflowType kTensorflowTypes[] = {{1, "float32", compiler::DType::f32},
                                               {2, "float64", compiler::DType::f64},
                                               {3, "int32", compiler::DType::s32},
                                               {4, "uint8", compiler::DType::u8},
                                               {5, "int16", std::nullopt},
                                               {6, "int8", std::nullopt},
                                               {7, "string", std::nullopt},
                                               {8, "complex64", std::nullopt},
                                               {9, "int64", compiler::DType::s64},
                                               {10, "bool", compiler::DType::pred},
                                               {14, "bfloat16", compiler::DType::bf16},
                                               {17, "uint16", compiler::DType::u16},
                                               {19, "half", compiler::DType::f16},
                                               {20, "resource", std::nullopt},
                                               {21, "variant", std::nullopt},
                                               {22, "uint32", compiler::DType::u32},
                                               {23, "uint64", compiler::DType::u64}};

}  // namespace

std::string tensorflow_type_name(std::int64_t type) {
  const auto* found = std::ranges::find(kTensorflowTypes, type, &TensorflowType::type);
  return found == std::end(kTensorflowTypes) ? str("type ", type) : std::string(found->name);
}

std::optional<compiler::DType> dtype_of_tensorflow(std::int64_t type) {
  const auto* found = std::ranges::find(kTensorflowTypes, type, &TensorflowType::type);
  return found == std::end(kTensorflowTypes) ? std::nullopt : found->dtype;
}

std::int64_t tensorflow_type(compiler::DType dtype) {
  const auto* found = std::ranges::find(kTensorflowTypes, dtype, &TensorflowType::dtype);
  CHECK(found != std::end(kTensorflowTypes), dtype);
  return found->type;
}

}  // namespace smelt::io
