// What the op blocks share: shape rules, emission of plain ops, axes, regions. Private to this
// room.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "compiler/ir/op.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/table.h"
#include "compiler/stablehlo/writer.h"

namespace smelt {

using Tensors = std::vector<Tensor>;
using Inputs = std::span<const Tensor>;

// The first result of a new node in the graph of its first input.
Tensor apply(const Op& op, Tensors inputs, Attrs attrs = {},
             std::vector<std::shared_ptr<const Region>> regions = {});
inline Tensor result(const Node& node, int index = 0) { return {&node, index}; }
Tensors results_of(const Node& node);

// A text as a template argument, for emit_as<"stablehlo.tanh">.
template <std::size_t size>
struct FixedText {
  char text[size];
  constexpr FixedText(const char (&from)[size]) { std::copy_n(from, size, text); }
};

// The op has no attributes: its inputs, regions and results say all.
template <FixedText name>
void emit_as(const Node& node, HloWriter& writer) {
  writer.generic(node, name.text);
}

// ---- shape rules ----
std::vector<Shape> same_as_first(const Node& node);
std::vector<Shape> same_float(const Node& node);   // one float operand
std::vector<Shape> same_number(const Node& node);  // one operand, not pred
std::vector<Shape> same_bits(const Node& node);    // integers or pred, any count of equal operands
std::vector<Shape> equal_numbers(const Node& node);  // equal operands, not pred

// Throws UsageError unless the dtype is as the name says.
void require_float(std::string_view where, const Shape& shape);
void require_number(std::string_view where, const Shape& shape);
void require_same_dtype(std::string_view where, const Shape& a, const Shape& b);
void require_equal(std::string_view where, const Shape& a, const Shape& b);

// NumPy's rule, or UsageError "<where>: a and b do not broadcast".
Dims broadcast_dims(std::string_view where, const Shape& a, const Shape& b);

// Axes counted from the front, each once, sorted; UsageError for one that the shape lacks.
Dims positive_axes(std::string_view where, const Dims& axes, const Shape& shape);
std::int64_t positive_axis(std::string_view where, std::int64_t axis, const Shape& shape);
// 0 … rank-1 without `axes`.
Dims other_axes(std::int64_t rank, const Dims& axes);

// ---- gradients ----
// No input gets a cotangent: the function is flat or its inputs are no numbers to differentiate by.
Tensors flat(const Node& node, std::span<const Tensor> cts);
// The type of a product's cotangent for its operand x: x's own, or what x was `rounded` from, maybe
// before it was laid out another way.
DType gradient_dtype(Tensor x);
// x where the predicate holds, else zero.
Tensor zero_unless(Tensor pred, Tensor x);

// ---- regions ----
std::shared_ptr<const Region> make_region(std::span<const Shape> shapes,
                                          const RegionBuilder& build);
// (a, b) -> a + b of scalars.
std::shared_ptr<const Region> add_region(DType dtype);

// ---- examples ----
inline OpExample::Input f64_input(Dims dims, double low = -2.0, double high = 2.0) {
  return {{DType::f64, std::move(dims)}, low, high};
}
inline OpExample::Input s32_input(Dims dims, double low, double high) {
  return {{DType::s32, std::move(dims)}, low, high};
}

}  // namespace smelt
