// Host values for the reference interpreter: every float as f64, every integer in 64 bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "compiler/ir/op.h"

namespace smelt::testing {

struct Value {
  compiler::Shape shape;
  std::vector<double> real;         // floats
  std::vector<std::uint64_t> bits;  // integers (signed ones sign-extended) and predicates (0, 1)

  bool is_real() const { return compiler::is_float(shape.dtype); }
  std::int64_t size() const { return shape.elements(); }
  // Integers and predicates as numbers.
  std::int64_t integer(std::int64_t i = 0) const { return static_cast<std::int64_t>(bits.at(i)); }
};

Value empty_value(const compiler::Shape& shape);  // zeros

// The 64 bits that an element of the type keeps: wrapped to its width, then extended by its sign.
std::uint64_t wrapped(compiler::DType dtype, std::uint64_t bits);

// To and from the bytes that a device holds.
std::vector<std::byte> to_bytes(const Value& value);
Value from_bytes(const compiler::Shape& shape, std::span<const std::byte> bytes);

// What an element of the type holds of a number: rounded to the float format, cut to an integer.
double rounded(compiler::DType dtype, double number);

// Calls visit(index, position) for every index of `dims` in row-major order.
void for_each_index(const compiler::Dims& dims,
                    const std::function<void(const compiler::Dims& index, std::int64_t at)>& visit);
std::int64_t position(const compiler::Dims& dims, const compiler::Dims& index);

// Result element `to` of `out` := element `from` of `in`.
void copy_element(const Value& in, std::int64_t from, Value& out, std::int64_t to);
Value element(const Value& in, std::int64_t at);  // as a scalar

// Elements drawn evenly from [low, high), rounded to the type; the same for the same seed.
Value random_value(const compiler::OpExample::Input& input, std::uint64_t seed);

}  // namespace smelt::testing
