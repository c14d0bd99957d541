#include "compiler/autodiff/scan_op.h"

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "compiler/stablehlo/writer.h"

namespace smelt::compiler {
namespace {

// The number of values of each kind in a scan node.
struct Counts {
  explicit Counts(const Node& node)
      : carried(node.attrs.integer("carried")),
        stacked(node.attrs.integer("stacked")),
        captured(std::ssize(node.inputs) - carried - stacked),
        outputs(node.attrs.integer("outputs")),
        saved(std::ssize(node.regions[0]->results) - carried - outputs) {}
  std::int64_t carried, stacked, captured, outputs, saved;
};

// Splits a list of tensors into consecutive groups.
class TensorGroups {
 public:
  explicit TensorGroups(std::span<const Tensor> all) : rest_(all) {}
  Tensors next(std::int64_t count) {
    const auto found = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(found.size());
    return {found.begin(), found.end()};
  }

 private:
  std::span<const Tensor> rest_;
};

Shape stacked_shape(const Shape& slice, std::int64_t length) {
  Shape out = slice;
  out.dims.insert(out.dims.begin(), length);
  return out;
}

// Copies a region into `graph` with new arguments and returns its results.
Tensors inlined(const Region& region, Graph& graph, std::span<const Tensor> arguments) {
  NodeMap map;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    map.emplace(region.graph.arguments()[i], graph.capture(arguments[i]));
  return copy_nodes(region.results, graph, map);
}

std::vector<Shape> infer(const Node& node) {
  const Counts n(node);
  std::vector<Shape> shapes;
  for (const Tensor& t : node.regions[0]->results)
    shapes.push_back(std::ssize(shapes) < n.carried
                         ? t.shape()
                         : stacked_shape(t.shape(), node.attrs.integer("length")));
  return shapes;
}

// ---- lowering: a while loop over {count, carried, output stacks, stacked, captured} ----

Tensors offsets(Tensor at, const Shape& stack) {
  const Tensor zero = constant(at.graph(), 0, DType::s32);
  Tensors out(static_cast<std::size_t>(stack.rank()), zero);
  out[0] = at;
  return out;
}

Tensor read_slice(Tensor stack, Tensor at) {
  Dims sizes = stack.dims();
  sizes[0] = 1;
  const Tensor slice = dynamic_slice(stack, offsets(at, stack.shape()), sizes);
  return reshape(slice, {sizes.begin() + 1, sizes.end()});
}

Tensor write_slice(Tensor stack, Tensor value, Tensor at) {
  Dims sizes = stack.dims();
  sizes[0] = 1;
  return dynamic_update_slice(stack, reshape(value, sizes), offsets(at, stack.shape()));
}

Tensors iteration(const Node& node, Graph& graph, std::span<const Tensor> state) {
  const Counts n(node);
  const std::int64_t length = node.attrs.integer("length"), filled = n.outputs + n.saved;
  TensorGroups groups(state);
  const Tensor count = groups.next(1)[0];
  const Tensors carried = groups.next(n.carried), stacks = groups.next(filled);
  const Tensors stacked = groups.next(n.stacked), captured = groups.next(n.captured);
  const Tensor at = node.attrs.integer("reverse") == 1
                        ? constant(graph, static_cast<double>(length - 1), DType::s32) - count
                        : count;
  Tensors arguments{at};
  append(arguments, carried);
  for (const Tensor& stack : stacked) arguments.push_back(read_slice(stack, at));
  append(arguments, captured);
  const Tensors results = inlined(*node.regions[0], graph, arguments);
  TensorGroups result_groups(results);
  const Tensors next_carried = result_groups.next(n.carried), made = result_groups.next(filled);
  Tensors next{count + constant(graph, 1, DType::s32)};
  append(next, next_carried);
  for (std::int64_t i = 0; i < filled; ++i) next.push_back(write_slice(stacks[i], made[i], at));
  append(next, stacked);
  append(next, captured);
  return next;
}

Tensors as_while(const Node& node, Graph& graph, std::span<const Tensor> inputs) {
  const Counts n(node);
  TensorGroups groups(inputs);
  Tensors state{constant(graph, 0, DType::s32)};
  append(state, groups.next(n.carried));
  for (std::size_t i = n.carried; i < node.results.size(); ++i)
    state.push_back(constant(graph, 0, node.results[i].dtype, node.results[i].dims));
  append(state, groups.next(n.stacked + n.captured));
  const Tensors loop = while_loop(
      state,
      [&](Graph& g, std::span<const Tensor> x) {
        const auto length = static_cast<double>(node.attrs.integer("length"));
        return Tensors{compare(x[0], constant(g, length, DType::s32), Compare::lt)};
      },
      [&](Graph& g, std::span<const Tensor> x) { return iteration(node, g, x); });
  // the first value is the count
  return {loop.begin() + 1, loop.begin() + 1 + std::ssize(node.results)};
}

// Lowers a scan of length 1 without a loop.
Tensors as_straight_line(const Node& node, Graph& graph, std::span<const Tensor> inputs) {
  const Counts n(node);
  TensorGroups groups(inputs);
  Tensors arguments{constant(graph, 0, DType::s32)};
  append(arguments, groups.next(n.carried));
  for (const Tensor& stack : groups.next(n.stacked))
    arguments.push_back(reshape(stack, {stack.dims().begin() + 1, stack.dims().end()}));
  append(arguments, groups.next(n.captured));
  Tensors results = inlined(*node.regions[0], graph, arguments);
  for (std::size_t i = n.carried; i < results.size(); ++i)
    results[i] = reshape(results[i], node.results[i].dims);
  return results;
}

void emit(const Node& node, HloWriter& writer) {
  writer.splice(node, [&](Graph& graph, std::span<const Tensor> inputs) {
    const bool once = node.attrs.integer("length") == 1;
    return once ? as_straight_line(node, graph, inputs) : as_while(node, graph, inputs);
  });
}

// ---- gradient: the same loop, from the last iteration to the first ----

// Returns the shape and type in which the cotangents of a captured value are summed over
// iterations.
Shape sum_shape(const Node& node, std::int64_t input) {
  Shape out = node.inputs[input].shape();
  const bool once = node.attrs.integer("length") == 1;
  if (!once && dtype_size_bytes(out.dtype) < 4) out.dtype = DType::f32;
  return out;
}

// Builds the region of the reverse scan: (index, cotangents of the carry, sums for captured values,
// slices of {output cotangents, stored values, stacked}, captured) -> (next cotangents and sums,
// cotangents of the slices).
std::shared_ptr<const Region> reverse_region(const Node& node, const Dims& of_captured) {
  const Counts n(node);
  const Region& back = *node.regions[1];
  const auto region = std::make_shared<Region>();
  Graph& g = region->graph;
  const auto arguments = [&](std::int64_t from, std::int64_t count) {
    Tensors out;
    for (std::int64_t i = from; i < from + count; ++i)
      out.push_back(g.argument(back.graph.arguments()[i].shape()));
    return out;
  };
  Tensors values = arguments(0, 1 + n.carried);  // index and cotangents of the carry
  Tensors sums;
  for (const std::int64_t i : of_captured) sums.push_back(g.argument(sum_shape(node, i)));
  append(values, arguments(1 + n.carried, std::ssize(back.graph.arguments()) - 1 - n.carried));
  const Tensors found = inlined(back, g, values);

  Tensors carried, outputs;
  for (std::int64_t i = 0; i < n.carried; ++i) carried.push_back(zeros_like(values[1 + i]));
  const Dims& gradient_of = node.attrs.dims("gradient_of");
  for (std::size_t i = 0, sum = 0; i < found.size(); ++i) {
    if (gradient_of[i] < n.carried)
      carried[gradient_of[i]] = found[i];
    else if (gradient_of[i] < n.carried + n.stacked)
      outputs.push_back(found[i]);
    else
      sums[sum] = sums[sum] + convert(found[i], sums[sum].dtype()), ++sum;
  }
  region->results = std::move(carried);
  append(region->results, sums);
  append(region->results, outputs);
  return region;
}

// Hides the inputs of a reverse pass without a loop behind an optimization barrier. Otherwise the
// compiler would merge the recomputation with the forward pass and keep the values in memory.
// Inputs `first` to `last` are zeros and remain constants.
Tensors behind_barrier(const Tensors& inputs, std::int64_t first, std::int64_t last) {
  Tensors out = optimization_barrier(inputs);
  std::copy(inputs.begin() + first, inputs.begin() + last, out.begin() + first);
  return out;
}

void require_gradient(const Node& node) {
  if (node.regions.size() >= 2) return;
  if (node.attrs.integer("reverse") == 1)  // only a reverse pass has reverse == 1
    throw UsageError("grad: a scan has no second derivative",
                     "unroll the loop, or wrap the first derivative in stop_gradient");
  throw UsageError("grad: a scan with RematPolicy::none has no gradient",
                   "choose another RematPolicy, or wrap its inputs in stop_gradient");
}

Tensors vjp(const Node& node, std::span<const Tensor> cts) {
  const Counts n(node);
  require_gradient(node);
  const auto cotangent_or_zero = [&](std::int64_t i) {
    return cts[i] ? cts[i] : constant(*node.graph, 0, node.results[i].dtype, node.results[i].dims);
  };
  const std::int64_t inner = n.carried + n.stacked;
  Dims of_captured, of_stacked;
  for (const std::int64_t i : node.attrs.dims("gradient_of"))
    if (i >= n.carried) (i < inner ? of_stacked : of_captured).push_back(i);
  Tensors inputs;
  for (std::int64_t i = 0; i < n.carried; ++i) inputs.push_back(cotangent_or_zero(i));
  for (const std::int64_t i : of_captured) {
    const Shape shape = sum_shape(node, i);
    inputs.push_back(constant(*node.graph, 0, shape.dtype, shape.dims));
  }
  const auto carried = std::ssize(inputs);
  for (std::int64_t i = 0; i < n.outputs; ++i) inputs.push_back(cotangent_or_zero(n.carried + i));
  for (std::int64_t i = 0; i < n.saved; ++i)
    inputs.emplace_back(&node, static_cast<int>(n.carried + n.outputs + i));
  inputs.insert(inputs.end(), node.inputs.begin() + n.carried, node.inputs.end());
  if (node.attrs.integer("length") == 1) inputs = behind_barrier(inputs, n.carried, carried);
  const Node& back = node.graph->apply(kScan, inputs,
                                       {{"length", node.attrs.integer("length")},
                                        {"carried", carried},
                                        {"stacked", n.outputs + n.saved + n.stacked},
                                        {"outputs", std::ssize(of_stacked)},
                                        {"reverse", 1 - node.attrs.integer("reverse")},
                                        {"gradient_of", Dims{}}},
                                       {reverse_region(node, of_captured)});
  Tensors out(node.inputs.size());
  const auto result = [&](std::int64_t i) { return Tensor(&back, static_cast<int>(i)); };
  for (const std::int64_t i : node.attrs.dims("gradient_of"))
    if (i < n.carried) out[i] = result(i);
  for (std::int64_t i = 0; i < std::ssize(of_captured); ++i)
    out[of_captured[i]] = convert(result(n.carried + i), node.inputs[of_captured[i]].dtype());
  for (std::int64_t i = 0; i < std::ssize(of_stacked); ++i)
    out[of_stacked[i]] = result(carried + i);
  return out;
}

}  // namespace

constinit const Op kScan{.name = "scan",
                         .infer = infer,
                         .vjp = vjp,
                         .emit = emit,
                         .examples = nullptr,
                         .saving = RematClass::saved};

}  // namespace smelt::compiler
