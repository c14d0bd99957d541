// StableHLO text of types and literals (dense attributes:
// https://mlir.llvm.org/docs/Dialects/Builtin).
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "compiler/ir/float16.h"
#include "compiler/stablehlo/writer.h"

namespace smelt::compiler {
namespace {

// Literals with more elements are printed as one hexadecimal string.
constexpr std::int64_t kMaxElementsInDecimal = 64;

std::string hex(std::uint64_t value, int digits) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out(digits, '0');
  for (int i = digits - 1; i >= 0; --i, value >>= 4) out[i] = kDigits[value & 15];
  return out;
}

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Returns the shortest decimal that reads back as the same value, in the scientific notation that
// MLIR requires for floats.
template <class T>
std::string float_text(T value) {
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  if (text.find('.') == std::string::npos) text.insert(text.find('e'), ".0");
  return text;
}

std::string element_text(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::pred:
      return read<std::uint8_t>(at) != 0 ? "true" : "false";
    case DType::s8:
      return str(static_cast<int>(read<std::int8_t>(at)));
    case DType::s32:
      return str(read<std::int32_t>(at));
    case DType::s64:
      return str(read<std::int64_t>(at));
    case DType::u8:
      return str(static_cast<int>(read<std::uint8_t>(at)));
    case DType::u16:
      return str(read<std::uint16_t>(at));
    case DType::u32:
      return str(read<std::uint32_t>(at));
    case DType::u64:
      return str(read<std::uint64_t>(at));
    case DType::bf16:
    case DType::f16: {
      const auto bits = read<std::uint16_t>(at);
      const float value = dtype == DType::bf16 ? bf16_to_float(bits) : f16_to_float(bits);
      return std::isfinite(value) ? float_text(value) : "0x" + hex(bits, 4);
    }
    case DType::f32: {
      const auto value = read<float>(at);
      return std::isfinite(value) ? float_text(value) : "0x" + hex(read<std::uint32_t>(at), 8);
    }
    case DType::f64: {
      const auto value = read<double>(at);
      return std::isfinite(value) ? float_text(value) : "0x" + hex(read<std::uint64_t>(at), 16);
    }
  }
  CHECK(false, "dtype ", static_cast<int>(dtype));
  return {};
}

// Returns nested brackets over the dimensions from `axis` on, and advances `at` past the elements.
std::string nested(const Shape& shape, std::size_t axis, const std::byte*& at) {
  if (axis == shape.dims.size()) {
    const std::string text = element_text(shape.dtype, at);
    at += dtype_size_bytes(shape.dtype);
    return text;
  }
  std::string out = "[";
  for (std::int64_t i = 0; i < shape.dims[axis]; ++i)
    out += (i > 0 ? ", " : "") + nested(shape, axis + 1, at);
  return out + "]";
}

}  // namespace

std::string hlo_type(const Shape& shape) {
  std::string out = "tensor<";
  for (const std::int64_t dim : shape.dims) out += str(dim, "x");
  return str(out, shape.dtype, ">");
}

std::string hlo_dims(const Dims& dims) {
  return dims.empty() ? "array<i64>" : str("array<i64: ", join(dims, ", "), ">");
}

std::string hlo_list(const Dims& dims) { return str("[", join(dims, ", "), "]"); }

std::string hlo_dense(const Shape& shape, const std::vector<std::byte>& bytes) {
  const bool splat = bytes.size() == dtype_size_bytes(shape.dtype);
  CHECK(splat || bytes.size() == shape.size_bytes(), bytes.size(), " bytes for ", shape);
  const std::byte* at = bytes.data();
  std::string text;
  if (shape.elements() == 0) {
    text = "";
  } else if (splat) {
    text = element_text(shape.dtype, at);
  } else if (shape.elements() <= kMaxElementsInDecimal || shape.dtype == DType::pred) {
    text = nested(shape, 0, at);
  } else {
    text = "\"0x";
    for (const std::byte byte : bytes) text += hex(static_cast<std::uint64_t>(byte), 2);
    text += "\"";
  }
  return str("dense<", text, "> : ", hlo_type(shape));
}

}  // namespace smelt::compiler
