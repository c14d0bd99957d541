#include "compiler/ir/float16.h"

#include <bit>
#include <cmath>

namespace smelt::compiler {
namespace {

// Rounds to a 16-bit float with a sign bit, `exponent_bits` exponent bits and the rest mantissa.
template <int exponent_bits>
std::uint16_t round_to_16_bits(double value) {
  constexpr int kMantissa = 15 - exponent_bits;
  constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  constexpr std::uint16_t kInfinity = ((1 << exponent_bits) - 1) << kMantissa;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | kInfinity | (1 << (kMantissa - 1));
  if (std::isinf(value)) return sign | kInfinity;
  if (value == 0) return sign;
  int exponent = std::ilogb(value);
  if (exponent < 1 - kBias) exponent = 1 - kBias;  // subnormal: the spacing stops shrinking
  // The mantissa in units of the last place; nearbyint rounds to even by default. If rounding
  // carries into the exponent the result is still right because the two fields are adjacent.
  const double units = std::nearbyint(std::scalbn(std::fabs(value), kMantissa - exponent));
  const double hidden = 1 << kMantissa;
  const std::int64_t bits = units < hidden
                                ? static_cast<std::int64_t>(units)
                                : (static_cast<std::int64_t>(exponent + kBias) << kMantissa) +
                                      static_cast<std::int64_t>(units - hidden);
  return sign | (bits >= kInfinity ? kInfinity : static_cast<std::uint16_t>(bits));
}

}  // namespace

float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float f16_to_float(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : std::copysign(NAN, sign);
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

std::uint16_t bf16_from_double(double value) { return round_to_16_bits<8>(value); }
std::uint16_t f16_from_double(double value) { return round_to_16_bits<5>(value); }

}  // namespace smelt::compiler
