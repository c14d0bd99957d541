// bfloat16 and IEEE half as 16 bits: conversion to and from float, rounding to nearest even.
#pragma once

#include <cstdint>

namespace smelt {

float bf16_to_float(std::uint16_t bits);
float f16_to_float(std::uint16_t bits);
// A NaN stays a (quiet) NaN; too large a number becomes infinite. From double: one rounding, not
// two.
std::uint16_t bf16_from_double(double value);
std::uint16_t f16_from_double(double value);

}  // namespace smelt
