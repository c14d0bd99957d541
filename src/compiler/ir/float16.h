// Conversions between float and the 16-bit formats bfloat16 and IEEE half.
#pragma once

#include <cstdint>

namespace smelt::compiler {

float bf16_to_float(std::uint16_t bits);
float f16_to_float(std::uint16_t bits);
// Round to nearest even. NaN becomes a quiet NaN; a value that is too large becomes infinity. The
// argument is a double so that the value is rounded once, not twice.
std::uint16_t bf16_from_double(double value);
std::uint16_t f16_from_double(double value);

}  // namespace smelt::compiler
