// Helpers shared by the op definitions: shape rules, emission of simple ops, axes, regions. Private
// to compiler/ops.
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

namespace smelt::compiler {

using Tensors = std::vector<Tensor>;
using Inputs = std::span<const Tensor>;

// Appends a node to the innermost graph of its inputs and returns its first result.
Tensor apply(const Op& op, Tensors inputs, Attrs attrs = {},
             std::vector<std::shared_ptr<const Region>> regions = {});
// Returns a result of a node, or all of them.
inline Tensor result(const Node& node, int index = 0) { return {&node, index}; }
Tensors results_of(const Node& node);

// A string as a template argument, for emit_as<"stablehlo.tanh">.
template <std::size_t size>
struct FixedText {
  char text[size];
  constexpr FixedText(const char (&from)[size]) { std::copy_n(from, size, text); }
};

// Emits an op without attributes.
template <FixedText name>
void emit_as(const Node& node, HloWriter& writer) {
  writer.generic(node, name.text);
}

// ---- shape rules for Op::infer ----
// Each function returns the shape of the first operand. It throws UsageError if the operands are
// not as the comment after its declaration requires.
std::vector<Shape> same_as_first(const Node& node);
std::vector<Shape> same_float(const Node& node);     // one floating-point operand
std::vector<Shape> same_number(const Node& node);    // one numeric operand
std::vector<Shape> same_bits(const Node& node);      // integer or pred operands of equal shape
std::vector<Shape> equal_numbers(const Node& node);  // numeric operands of equal shape

// Throw UsageError unless the shape has a floating-point type, or a numeric type.
void require_float(std::string_view where, const Shape& shape);
void require_number(std::string_view where, const Shape& shape);
// Throw UsageError unless both shapes have the same element type. require_equal() also requires the
// same dimensions.
void require_same_dtype(std::string_view where, const Shape& a, const Shape& b);
void require_equal(std::string_view where, const Shape& a, const Shape& b);

// Returns the dimensions after broadcasting by NumPy's rules. Throws UsageError if that fails.
Dims broadcast_dims(std::string_view where, const Shape& a, const Shape& b);

// Converts negative axes to positive ones, sorted. Throws UsageError if the shape has no such axis
// or one is named twice.
Dims positive_axes(std::string_view where, const Dims& axes, const Shape& shape);
std::int64_t positive_axis(std::string_view where, std::int64_t axis, const Shape& shape);
// Returns the axes 0 … rank-1 that are not in `axes`.
Dims other_axes(std::int64_t rank, const Dims& axes);

// ---- gradients ----
// The gradient rule of ops that pass no gradient to their inputs, such as sign, comparisons and
// stop_gradient. Returns one empty Tensor per input.
Tensors flat(const Node& node, std::span<const Tensor> cts);
// Returns the type of a matmul's cotangent for operand x: the type of x, or the original type if x
// comes from rounded(), also through reshapes and transposes.
DType gradient_dtype(Tensor x);
// Returns x where pred is true, and 0 elsewhere.
Tensor zero_unless(Tensor pred, Tensor x);

// ---- regions ----
// Builds a region with arguments of these shapes.
std::shared_ptr<const Region> make_region(std::span<const Shape> shapes,
                                          const RegionBuilder& build);
// Returns the region (a, b) -> a + b on scalars.
std::shared_ptr<const Region> add_region(DType dtype);

// ---- inputs of examples ----
inline OpExample::Input f64_input(Dims dims, double low = -2.0, double high = 2.0) {
  return {{DType::f64, std::move(dims)}, low, high};
}
inline OpExample::Input s32_input(Dims dims, double low, double high) {
  return {{DType::s32, std::move(dims)}, low, high};
}

}  // namespace smelt::compiler
