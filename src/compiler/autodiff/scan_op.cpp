#include "compiler/autodiff/scan_op.h"

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "compiler/stablehlo/writer.h"

namespace smelt {
namespace {

// How many values of each kind a scan has.
struct Counts {
  explicit Counts(const Node& node)
      : carried(node.attrs.integer("carried")),
        stacked(node.attrs.integer("stacked")),
        captured(std::ssize(node.inputs) - carried - stacked),
        outputs(node.attrs.integer("outputs")),
        saved(std::ssize(node.regions[0]->results) - carried - outputs) {}
  std::int64_t carried, stacked, captured, outputs, saved;
};

// Takes tensors of one kind after another off the front of a list.
class InTurn {
 public:
  explicit InTurn(std::span<const Tensor> all) : rest_(all) {}
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

// The results of a region on other arguments, as nodes of `graph`.
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

// ---- emission: a while over {count, carried, stacks to fill, stacked, captured} ----

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
  InTurn in_turn(state);
  const Tensor count = in_turn.next(1)[0];
  const Tensors carried = in_turn.next(n.carried), stacks = in_turn.next(filled);
  const Tensors stacked = in_turn.next(n.stacked), captured = in_turn.next(n.captured);
  const Tensor at = node.attrs.integer("reverse") == 1
                        ? constant(graph, static_cast<double>(length - 1), DType::s32) - count
                        : count;
  Tensors arguments{at};
  append(arguments, carried);
  for (const Tensor& stack : stacked) arguments.push_back(read_slice(stack, at));
  append(arguments, captured);
  const Tensors results = inlined(*node.regions[0], graph, arguments);
  InTurn results_in_turn(results);
  const Tensors next_carried = results_in_turn.next(n.carried), made = results_in_turn.next(filled);
  Tensors next{count + constant(graph, 1, DType::s32)};
  append(next, next_carried);
  for (std::int64_t i = 0; i < filled; ++i) next.push_back(write_slice(stacks[i], made[i], at));
  append(next, stacked);
  append(next, captured);
  return next;
}

Tensors as_while(const Node& node, Graph& graph, std::span<const Tensor> inputs) {
  const Counts n(node);
  InTurn in_turn(inputs);
  Tensors state{constant(graph, 0, DType::s32)};
  append(state, in_turn.next(n.carried));
  for (std::size_t i = n.carried; i < node.results.size(); ++i)
    state.push_back(constant(graph, 0, node.results[i].dtype, node.results[i].dims));
  append(state, in_turn.next(n.stacked + n.captured));
  const Tensors loop = while_loop(
      state,
      [&](Graph& g, std::span<const Tensor> x) {
        const auto length = static_cast<double>(node.attrs.integer("length"));
        return Tensors{compare(x[0], constant(g, length, DType::s32), Compare::lt)};
      },
      [&](Graph& g, std::span<const Tensor> x) { return iteration(node, g, x); });
  return {loop.begin() + 1, loop.begin() + 1 + std::ssize(node.results)};  // behind the count
}

// A loop of one turn is no loop.
Tensors as_one_turn(const Node& node, Graph& graph, std::span<const Tensor> inputs) {
  const Counts n(node);
  InTurn in_turn(inputs);
  Tensors arguments{constant(graph, 0, DType::s32)};
  append(arguments, in_turn.next(n.carried));
  for (const Tensor& stack : in_turn.next(n.stacked))
    arguments.push_back(reshape(stack, {stack.dims().begin() + 1, stack.dims().end()}));
  append(arguments, in_turn.next(n.captured));
  Tensors results = inlined(*node.regions[0], graph, arguments);
  for (std::size_t i = n.carried; i < results.size(); ++i)
    results[i] = reshape(results[i], node.results[i].dims);
  return results;
}

void emit(const Node& node, HloWriter& writer) {
  writer.splice(node, [&](Graph& graph, std::span<const Tensor> inputs) {
    const bool once = node.attrs.integer("length") == 1;
    return once ? as_one_turn(node, graph, inputs) : as_while(node, graph, inputs);
  });
}

// ---- gradient: the same loop backwards ----

// What the cotangents of a captured value are added up in over all iterations.
Shape sum_shape(const Node& node, std::int64_t input) {
  Shape out = node.inputs[input].shape();
  const bool once = node.attrs.integer("length") == 1;
  if (!once && dtype_size_bytes(out.dtype) < 4) out.dtype = DType::f32;
  return out;
}

// (index, carried cotangents and sums, slices of {output cotangents, saved, stacked}, captured) ->
// the next ones, and the cotangents of slices.
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
  Tensors values = arguments(0, 1 + n.carried);  // index and cotangents of what is carried
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

// What a reverse pass without a loop begins with: or the compiler would find that both passes make
// the same, and keep it in between. The zeros from `first` to `last` may go on as constants.
Tensors held_back(const Tensors& inputs, std::int64_t first, std::int64_t last) {
  Tensors out = optimization_barrier(inputs);
  std::copy(inputs.begin() + first, inputs.begin() + last, out.begin() + first);
  return out;
}

void require_gradient(const Node& node) {
  if (node.regions.size() >= 2) return;
  if (node.attrs.integer("reverse") == 1)  // as only another's reverse pass is
    throw UsageError("grad: there is no second derivative through a scan",
                     "unroll the loop, or wrap the first derivative in stop_gradient");
  throw UsageError("grad: a scan that saves nothing has no gradient",
                   "choose what it saves, or wrap its inputs in stop_gradient");
}

Tensors vjp(const Node& node, std::span<const Tensor> cts) {
  const Counts n(node);
  require_gradient(node);
  const auto arrived = [&](std::int64_t i) {
    return cts[i] ? cts[i] : constant(*node.graph, 0, node.results[i].dtype, node.results[i].dims);
  };
  const std::int64_t inner = n.carried + n.stacked;
  Dims of_captured, of_stacked;
  for (const std::int64_t i : node.attrs.dims("gradient_of"))
    if (i >= n.carried) (i < inner ? of_stacked : of_captured).push_back(i);
  Tensors inputs;
  for (std::int64_t i = 0; i < n.carried; ++i) inputs.push_back(arrived(i));
  for (const std::int64_t i : of_captured) {
    const Shape shape = sum_shape(node, i);
    inputs.push_back(constant(*node.graph, 0, shape.dtype, shape.dims));
  }
  const auto carried = std::ssize(inputs);
  for (std::int64_t i = 0; i < n.outputs; ++i) inputs.push_back(arrived(n.carried + i));
  for (std::int64_t i = 0; i < n.saved; ++i)
    inputs.emplace_back(&node, static_cast<int>(n.carried + n.outputs + i));
  inputs.insert(inputs.end(), node.inputs.begin() + n.carried, node.inputs.end());
  if (node.attrs.integer("length") == 1) inputs = held_back(inputs, n.carried, carried);
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

}  // namespace smelt
