// Host values for the reference interpreter: every float is f64, every integer has 64 bits.
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
  // Returns an integer or predicate as a number.
  std::int64_t integer(std::int64_t i = 0) const { return static_cast<std::int64_t>(bits.at(i)); }
};

Value empty_value(const compiler::Shape& shape);  // zeros

// Wraps an integer to the type's width, then extends it to 64 bits, with its sign if the type is
// signed.
std::uint64_t wrapped(compiler::DType dtype, std::uint64_t bits);

// Convert to and from the bytes on a device.
std::vector<std::byte> to_bytes(const Value& value);
Value from_bytes(const compiler::Shape& shape, std::span<const std::byte> bytes);

// Rounds a number to the element type: to the nearest float of this format, or toward zero to an
// integer.
double rounded(compiler::DType dtype, double number);

// Calls visit(index, position) for every index of `dims` in row-major order.
void for_each_index(const compiler::Dims& dims,
                    const std::function<void(const compiler::Dims& index, std::int64_t at)>& visit);
std::int64_t position(const compiler::Dims& dims, const compiler::Dims& index);

// Copies element `from` of `in` to element `to` of `out`.
void copy_element(const Value& in, std::int64_t from, Value& out, std::int64_t to);
Value element(const Value& in, std::int64_t at);  // returns a scalar

// Returns elements drawn uniformly from [low, high) and rounded to the type; the seed determines
// them.
Value random_value(const compiler::OpExample::Input& input, std::uint64_t seed);

}  // namespace smelt::testing
