#include "reference/value.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "compiler/ir/float16.h"

namespace smelt::testing {

using compiler::bf16_from_double;
using compiler::bf16_to_float;
using compiler::Dims;
using compiler::dims_text;
using compiler::DType;
using compiler::dtype_size_bytes;
using compiler::f16_from_double;
using compiler::f16_to_float;
using compiler::is_float;
using compiler::is_signed;
using compiler::OpExample;
using compiler::Shape;

Value empty_value(const Shape& shape) {
  Value value{shape, {}, {}};
  if (value.is_real())
    value.real.assign(value.size(), 0);
  else
    value.bits.assign(value.size(), 0);
  return value;
}

std::uint64_t wrapped(DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::pred:
      return bits & 1;
    case DType::s8:
      return static_cast<std::uint64_t>(static_cast<std::int8_t>(bits));
    case DType::u8:
      return static_cast<std::uint8_t>(bits);
    case DType::u16:
      return static_cast<std::uint16_t>(bits);
    case DType::u32:
      return static_cast<std::uint32_t>(bits);
    case DType::s32:
      return static_cast<std::uint64_t>(static_cast<std::int32_t>(bits));
    default:
      return bits;
  }
}

namespace {

std::uint64_t float_bits(DType dtype, double number) {
  switch (dtype) {
    case DType::bf16:
      return bf16_from_double(number);
    case DType::f16:
      return f16_from_double(number);
    case DType::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(number));
    default:
      return std::bit_cast<std::uint64_t>(number);
  }
}

double float_of_bits(DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::bf16:
      return bf16_to_float(static_cast<std::uint16_t>(bits));
    case DType::f16:
      return f16_to_float(static_cast<std::uint16_t>(bits));
    case DType::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

}  // namespace

std::vector<std::byte> to_bytes(const Value& value) {
  const std::size_t size = dtype_size_bytes(value.shape.dtype);
  std::vector<std::byte> bytes(value.shape.size_bytes());
  for (std::int64_t i = 0; i < value.size(); ++i) {
    const std::uint64_t bits =
        value.is_real() ? float_bits(value.shape.dtype, value.real[i]) : value.bits[i];
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

Value from_bytes(const Shape& shape, std::span<const std::byte> bytes) {
  const std::size_t size = dtype_size_bytes(shape.dtype);
  CHECK(bytes.size() == shape.size_bytes());
  Value value = empty_value(shape);
  for (std::int64_t i = 0; i < value.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    if (value.is_real())
      value.real[i] = float_of_bits(shape.dtype, bits);
    else
      value.bits[i] = wrapped(shape.dtype, bits);
  }
  return value;
}

double rounded(DType dtype, double number) {
  return is_float(dtype) ? float_of_bits(dtype, float_bits(dtype, number)) : std::trunc(number);
}

void for_each_index(const Dims& dims,
                    const std::function<void(const Dims& index, std::int64_t at)>& visit) {
  const std::int64_t count = Shape{DType::f64, dims}.elements();
  Dims index(dims.size());
  for (std::int64_t at = 0; at < count; ++at) {
    std::int64_t rest = at;
    for (std::size_t i = dims.size(); i-- > 0;) {
      index[i] = rest % dims[i];
      rest /= dims[i];
    }
    visit(index, at);
  }
}

std::int64_t position(const Dims& dims, const Dims& index) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    CHECK(index[i] >= 0 && index[i] < dims[i], dims_text(index), " in ", dims_text(dims));
    at = at * dims[i] + index[i];
  }
  return at;
}

void copy_element(const Value& in, std::int64_t from, Value& out, std::int64_t to) {
  if (in.is_real())
    out.real.at(to) = in.real.at(from);
  else
    out.bits.at(to) = in.bits.at(from);
}

Value element(const Value& in, std::int64_t at) {
  Value out = empty_value({in.shape.dtype, {}});
  copy_element(in, at, out, 0);
  return out;
}

Value random_value(const OpExample::Input& input, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Value value = empty_value(input.shape);
  for (std::int64_t i = 0; i < value.size(); ++i) {
    const double unit = static_cast<double>(engine() >> 11) * 0x1p-53;
    const double number = input.low + (input.high - input.low) * unit;
    if (value.is_real())
      value.real[i] = rounded(input.shape.dtype, number);
    else if (is_signed(input.shape.dtype))
      value.bits[i] = static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(number)));
    else
      value.bits[i] = static_cast<std::uint64_t>(number);
  }
  return value;
}

}  // namespace smelt::testing
