// Reductions. The init value and the reducing region are part of the node, as in StableHLO.
#include <limits>

#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

std::vector<Shape> without_axes(const Node& node) {
  const Shape& x = node.inputs[0].shape();
  require_number(node.op->name, x);
  Dims kept;
  for (const std::int64_t axis : other_axes(x.rank(), node.attrs.dims("axes")))
    kept.push_back(x.dims[axis]);
  std::vector<Shape> shapes;
  // Operands come first, then the same number of init values.
  for (std::size_t i = 0; i < node.inputs.size() / 2; ++i)
    shapes.push_back({node.inputs[i].dtype(), kept});
  return shapes;
}

void emit_reduce(const Node& node, HloWriter& writer) {
  writer.generic(node, "stablehlo.reduce", "dimensions = " + hlo_dims(node.attrs.dims("axes")));
}

// Returns whether this is a sum over rows with enough rows that a matmul with ones is faster.
bool sums_many_rows(const Node& node) {
  const Shape &x = node.inputs[0].shape(), &sums = node.results[0];
  return x.dtype == DType::f32 && !node.attrs.dims("axes").empty() && sums.rank() == 1 &&
         node.attrs.dims("axes").back() < x.rank() - 1 && sums.dims[0] >= 8 &&
         x.elements() >= 64 * sums.dims[0];
}

// Returns whether each sum has at least kLong terms: sequential f32 addition would then lose more
// than 1e-6 of the sum. Rows of attention scores or logits have fewer terms.
bool is_long(const Node& node) {
  constexpr std::int64_t kLong = 1 << 16;
  const Shape& x = node.inputs[0].shape();
  return x.dtype == DType::f32 && x.elements() >= kLong * node.results[0].elements();
}

void emit_sum_in_f64(const Node& node, HloWriter& writer) {
  writer.splice(node, [&](Graph&, Inputs in) {
    const Tensor sum = reduce_sum(convert(in[0], DType::f64), node.attrs.dims("axes"));
    return Tensors{convert(sum, DType::f32)};
  });
}

// Emits the sum over all axes but the last as a matmul with ones. XLA's CPU fusion would compute
// the input inside the reduction, column by column in scalar code, and again for the input's other
// users (docs/explanation/performance-history.md). The matrix has eight rows of ones because a
// matmul with one row is slow on the CPU.
void emit_reduce_sum(const Node& node, HloWriter& writer) {
  const bool as_product = writer.form().sums_as_products && sums_many_rows(node);
  if (!as_product && writer.form().long_sums_in_f64 && is_long(node))
    return emit_sum_in_f64(node, writer);
  if (!as_product) return emit_reduce(node, writer);
  writer.splice(node, [](Graph& graph, Inputs in) {
    const std::int64_t columns = in[0].dim(-1), rows = in[0].shape().elements() / columns;
    const Tensor ones = constant(graph, 1.0, DType::f32, {8, rows});
    const Tensor sums = matmul(ones, reshape(in[0], {rows, columns}));
    return Tensors{reshape(slice_axis(sums, 0, 0, 1), {columns})};
  });
}

// Broadcasts y, which lacks the reduced axes, back to the shape of the operand.
Tensor broadcast_back(Tensor y, const Node& node) {
  const Tensor x = node.inputs[0];
  return broadcast_in_dim(y, x.dims(), other_axes(x.rank(), node.attrs.dims("axes")));
}

Tensor least_value(Graph& graph, DType dtype) {
  switch (dtype) {
    case DType::s8:
      return constant(graph, std::numeric_limits<std::int8_t>::min(), dtype);
    case DType::s32:
      return constant(graph, std::numeric_limits<std::int32_t>::min(), dtype);
    case DType::s64:
      return constant(graph, -0x1p63, dtype);
    default:
      return constant(graph, is_float(dtype) ? -std::numeric_limits<double>::infinity() : 0.0,
                      dtype);
  }
}

Tensor keep_dims(Tensor y, Tensor x, const Dims& axes, KeepDims keep) {
  if (keep == KeepDims::no) return y;
  Dims dims = x.dims();
  for (const std::int64_t axis : axes) dims[axis] = 1;
  return reshape(y, dims);
}

template <Tensor (*f)(Tensor, const Dims&, KeepDims)>
std::vector<OpExample> reduce_examples() {
  return {{"one axis",
           {f64_input({2, 3, 4})},
           [](Graph&, Inputs in) { return Tensors{f(in[0], {1}, KeepDims::no)}; }},
          {"two axes, kept",
           {f64_input({2, 3, 4})},
           [](Graph&, Inputs in) { return Tensors{f(in[0], {-1, 0}, KeepDims::yes)}; }},
          {"all axes",
           {f64_input({2, 3})},
           [](Graph&, Inputs in) { return Tensors{f(in[0], {0, 1}, KeepDims::no)}; }},
          {"s32", {s32_input({2, 3}, -9, 9)}, [](Graph&, Inputs in) {
             return Tensors{f(in[0], {0}, KeepDims::no)};
           }}};
}

}  // namespace

constinit const Op kReduceSum{
    .name = "reduce_sum",
    .infer = without_axes,
    .vjp = [](const Node& node,
              std::span<const Tensor> cts) { return Tensors{broadcast_back(cts[0], node), {}}; },
    .emit = emit_reduce_sum,
    .examples = reduce_examples<reduce_sum>,
    .saving = RematClass::saved};

Tensor reduce_sum(Tensor x, const Dims& axes, KeepDims keep) {
  const Dims at = positive_axes("reduce_sum", axes, x.shape());
  require_number("reduce_sum", x.shape());
  const Tensor zero = constant(x.graph(), 0, x.dtype());
  const Tensor y = apply(kReduceSum, {x, zero}, {{"axes", at}}, {add_region(x.dtype())});
  return keep_dims(y, x, at, keep);
}

// Elements equal to the maximum share its cotangent evenly.
constinit const Op kReduceMax{
    .name = "reduce_max",
    .infer = without_axes,
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const Tensor x = node.inputs[0];
          const Tensor is_max =
              convert(compare(x, broadcast_back(result(node), node), Compare::eq), x.dtype());
          const Tensor share = cts[0] / reduce_sum(is_max, node.attrs.dims("axes"));
          return Tensors{is_max * broadcast_back(share, node), {}};
        },
    .emit = emit_reduce,
    .examples = reduce_examples<reduce_max>,
    .saving = RematClass::saved};

Tensor reduce_max(Tensor x, const Dims& axes, KeepDims keep) {
  const Dims at = positive_axes("reduce_max", axes, x.shape());
  require_number("reduce_max", x.shape());
  const Shape scalar{x.dtype(), {}};
  const auto region = make_region(std::vector{scalar, scalar},
                                  [](Graph&, Inputs in) { return Tensors{maximum(in[0], in[1])}; });
  const Tensor y =
      apply(kReduceMax, {x, least_value(x.graph(), x.dtype())}, {{"axes", at}}, {region});
  return keep_dims(y, x, at, keep);
}

constinit const Op kArgmax{
    .name = "argmax", .infer = without_axes, .vjp = flat, .emit = emit_reduce, .examples = [] {
      return std::vector<OpExample>{{"last axis",
                                     {f64_input({3, 5})},
                                     [](Graph&, Inputs in) { return Tensors{argmax(in[0], -1)}; }},
                                    {"first of equals",
                                     {s32_input({7, 2}, 0, 3)},
                                     [](Graph&, Inputs in) { return Tensors{argmax(in[0], 0)}; }}};
    }};

namespace {

// Combines two (value, index) pairs: the larger value wins, the smaller index on ties. NaN counts
// as the largest value.
Tensors larger_pair(Graph&, Inputs in) {
  const Tensor value_a = in[0], index_a = in[1], value_b = in[2], index_b = in[3];
  const Tensor is_larger = compare(value_a, value_b, Compare::gt);
  const Tensor is_nan = compare(value_a, value_a, Compare::ne);
  const Tensor larger = bitwise_or(is_larger, is_nan);
  const Tensor is_equal = compare(value_a, value_b, Compare::eq);
  const Tensor is_first = compare(index_a, index_b, Compare::lt);
  const Tensor wins = bitwise_or(larger, bitwise_and(is_equal, is_first));
  return {select(larger, value_a, value_b), select(wins, index_a, index_b)};
}

}  // namespace

Tensor argmax(Tensor x, std::int64_t axis) {
  const std::int64_t at = positive_axis("argmax", axis, x.shape());
  require_number("argmax", x.shape());
  if (x.dim(at) == 0)
    throw UsageError(str("argmax: axis ", at, " of ", x.shape(), " is empty"),
                     "use an axis with at least one element");
  Graph& graph = x.graph();
  const Shape value{x.dtype(), {}}, index{DType::s32, {}};
  const Node& node = apply(kArgmax,
                           {x, iota(graph, {DType::s32, x.dims()}, at),
                            least_value(graph, x.dtype()), constant(graph, 0, DType::s32)},
                           {{"axes", Dims{at}}},
                           {make_region(std::vector{value, index, value, index}, larger_pair)})
                         .node();
  return result(node, 1);
}

}  // namespace smelt::compiler
