#include "compiler/ops/rules.h"

#include <numeric>

namespace smelt::compiler {

Tensor apply(const Op& op, Tensors inputs, Attrs attrs,
             std::vector<std::shared_ptr<const Region>> regions) {
  CHECK(!inputs.empty() && inputs[0], op.name, ": an input is empty");
  // Use the innermost graph of the inputs: a node that needs nothing from a region stays outside
  // it.
  Graph* graph = &inputs[0].graph();
  for (const Tensor& input : inputs)
    if (input && input.graph().depth() > graph->depth()) graph = &input.graph();
  return result(graph->apply(op, std::move(inputs), std::move(attrs), std::move(regions)));
}

Tensors results_of(const Node& node) {
  Tensors out;
  for (std::size_t i = 0; i < node.results.size(); ++i)
    out.push_back(result(node, static_cast<int>(i)));
  return out;
}

void require_float(std::string_view where, const Shape& shape) {
  if (!is_float(shape.dtype))
    throw UsageError(str(where, ": ", shape, " must have a floating-point type"),
                     "convert it first");
}

void require_number(std::string_view where, const Shape& shape) {
  if (shape.dtype == DType::pred)
    throw UsageError(str(where, ": ", shape, " must have a numeric type"), "convert it first");
}

void require_same_dtype(std::string_view where, const Shape& a, const Shape& b) {
  if (a.dtype != b.dtype)
    throw UsageError(str(where, ": ", a, " and ", b, " differ in element type"),
                     "convert one of them");
}

void require_equal(std::string_view where, const Shape& a, const Shape& b) {
  require_same_dtype(where, a, b);
  if (a != b)
    throw UsageError(str(where, ": ", a, " and ", b, " differ in shape"),
                     "give both the same shape");
}

std::vector<Shape> same_as_first(const Node& node) { return {node.inputs[0].shape()}; }

std::vector<Shape> same_float(const Node& node) {
  require_float(node.op->name, node.inputs[0].shape());
  return same_as_first(node);
}

std::vector<Shape> same_number(const Node& node) {
  require_number(node.op->name, node.inputs[0].shape());
  return same_as_first(node);
}

std::vector<Shape> same_bits(const Node& node) {
  const Shape& first = node.inputs[0].shape();
  if (is_float(first.dtype))
    throw UsageError(str(node.op->name, ": ", first, " must have an integer or predicate type"),
                     "convert it, or use bitcast_convert");
  for (const Tensor& t : node.inputs) require_equal(node.op->name, first, t.shape());
  return {first};
}

std::vector<Shape> equal_numbers(const Node& node) {
  require_number(node.op->name, node.inputs[0].shape());
  for (const Tensor& t : node.inputs)
    require_equal(node.op->name, node.inputs[0].shape(), t.shape());
  return same_as_first(node);
}

Dims broadcast_dims(std::string_view where, const Shape& a, const Shape& b) {
  const std::int64_t rank = std::max(a.rank(), b.rank());
  Dims out(rank);
  for (std::int64_t i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.rank() ? a.dims[a.rank() - i] : 1;
    const std::int64_t y = i <= b.rank() ? b.dims[b.rank() - i] : 1;
    if (x != y && x != 1 && y != 1)
      throw UsageError(str(where, ": ", a, " and ", b, " do not broadcast"),
                       "make dimensions equal or 1, aligned at the last axis");
    out[rank - i] = x == 1 ? y : x;
  }
  return out;
}

std::int64_t positive_axis(std::string_view where, std::int64_t axis, const Shape& shape) {
  const std::int64_t positive = axis < 0 ? axis + shape.rank() : axis;
  if (positive < 0 || positive >= shape.rank())
    throw UsageError(str(where, ": ", shape, " has no axis ", axis),
                     str("axes go from ", -shape.rank(), " to ", shape.rank() - 1));
  return positive;
}

Dims positive_axes(std::string_view where, const Dims& axes, const Shape& shape) {
  Dims out;
  for (const std::int64_t axis : axes) out.push_back(positive_axis(where, axis, shape));
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end())
    throw UsageError(str(where, ": axes ", dims_text(axes), " of ", shape, " name one axis twice"),
                     "name each axis once");
  return out;
}

Dims other_axes(std::int64_t rank, const Dims& axes) {
  Dims out;
  for (std::int64_t i = 0; i < rank; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) out.push_back(i);
  return out;
}

Tensors flat(const Node& node, std::span<const Tensor>) { return Tensors(node.inputs.size()); }

Tensor zero_unless(Tensor pred, Tensor x) { return select(pred, x, zeros_like(x)); }

std::shared_ptr<const Region> make_region(std::span<const Shape> shapes,
                                          const RegionBuilder& build) {
  auto region = std::make_shared<Region>();
  for (const Shape& shape : shapes) region->graph.argument(shape);
  const Tensors arguments = region->graph.arguments();
  region->results = build(region->graph, arguments);
  for (const Tensor& t : region->results)
    CHECK(t && &t.graph() == &region->graph, "a result of a region belongs to another graph");
  return region;
}

std::shared_ptr<const Region> add_region(DType dtype) {
  const Shape scalar{dtype, {}};
  return make_region(std::vector{scalar, scalar},
                     [](Graph&, Inputs in) { return Tensors{add(in[0], in[1])}; });
}

}  // namespace smelt::compiler
