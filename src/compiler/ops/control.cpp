// Ops with regions (while, sort), and top_k.
#include <algorithm>

#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

std::vector<Shape> shapes_of(std::span<const Tensor> tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& t : tensors) shapes.push_back(t.shape());
  return shapes;
}

void check_predicate(std::string_view where, const Region& region) {
  if (region.results.size() != 1 || region.results[0].shape() != Shape{DType::pred, {}})
    throw UsageError(str(where, " must return one i1[]"), "return one compare of scalars");
}

}  // namespace

constinit const Op kWhile{
    .name = "while",
    .infer =
        [](const Node& node) {
          const std::vector<Shape> carried = shapes_of(node.inputs);
          check_predicate("while: the condition", *node.regions[0]);
          const std::vector<Shape> next = shapes_of(node.regions[1]->results);
          if (next.size() != carried.size())
            throw UsageError(
                str("while: the body returns ", next.size(), " values, expected ", carried.size()),
                "return every carried value");
          for (std::size_t i = 0; i < next.size(); ++i)
            if (next[i] != carried[i])
              throw UsageError(str("while: value ", i, " has shape ", carried[i], " before and ",
                                   next[i], " after the body"),
                               "keep the shape of every carried value");
          return carried;
        },
    .vjp = nullptr,
    .emit = emit_as<"stablehlo.while">,
    .examples =
        [] {
          return std::vector<OpExample>{
              {"powers of a number",
               {f64_input({2})},
               [](Graph& g, Inputs in) {
                 return while_loop(
                     {constant(g, 0, DType::s32), in[0]},
                     [](Graph& r, Inputs x) {
                       return Tensors{compare(x[0], constant(r, 5, DType::s32), Compare::lt)};
                     },
                     [](Graph& r, Inputs x) {
                       return Tensors{x[0] + constant(r, 1, DType::s32), x[1] * x[1] * 0.5};
                     });
               }},
              {"sums of a captured value up to a captured bound",
               {f64_input({2}), s32_input({}, 3, 4)},
               [](Graph& g, Inputs in) {
                 return while_loop(
                     {constant(g, 0, DType::s32), zeros_like(in[0])},
                     [&](Graph&, Inputs x) { return Tensors{compare(x[0], in[1], Compare::lt)}; },
                     [&](Graph& r, Inputs x) {
                       return Tensors{x[0] + constant(r, 1, DType::s32), x[1] + in[0]};
                     });
               }}};
        }};

namespace {

// A region of a loop under construction.
struct LoopRegion {
  LoopRegion(Graph* outer, std::span<const Tensor> init, const RegionBuilder& build)
      : graph(outer) {
    for (const Tensor& t : init) arguments.push_back(graph.argument(t.shape()));
    for (const Tensor& t : build(graph, arguments)) results.push_back(graph.capture(t));
  }
  // Adds the argument for a carried outer tensor, whether this region uses it or not.
  void carry(Tensor outside) {
    for (const auto& [known, argument] : graph.captured())
      if (known == outside) return arguments.push_back(argument);
    arguments.push_back(graph.argument(outside.shape()));
  }

  Graph graph;
  Tensors arguments, results;
};

}  // namespace

std::vector<Tensor> while_loop(const std::vector<Tensor>& init, const RegionBuilder& condition,
                               const RegionBuilder& body) {
  Graph& graph = init.at(0).graph();
  LoopRegion test(&graph, init, condition), step(&graph, init, body);
  Tensors inputs = init;
  for (const LoopRegion* part : {&test, &step})
    for (const auto& [outside, argument] : part->graph.captured())
      if (std::ranges::find(inputs.begin() + std::ssize(init), inputs.end(), outside) ==
          inputs.end())
        inputs.push_back(outside);
  for (std::size_t i = init.size(); i < inputs.size(); ++i) {
    test.carry(inputs[i]);
    step.carry(inputs[i]);
    step.results.push_back(step.arguments.back());
  }
  Tensors out = results_of(graph.apply(
      kWhile, inputs, {},
      {region_of(test.arguments, test.results), region_of(step.arguments, step.results)}));
  out.resize(init.size());
  return out;
}

constinit const Op kSort{
    .name = "sort",
    .infer =
        [](const Node& node) {
          for (const Tensor& t : node.inputs)
            if (t.dims() != node.inputs[0].dims())
              throw UsageError(
                  str("sort: ", node.inputs[0].shape(), " and ", t.shape(), " differ in shape"),
                  "give all operands the same dimensions");
          check_predicate("sort: the comparator", *node.regions[0]);
          return shapes_of(node.inputs);
        },
    .vjp = nullptr,
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(
              node, "stablehlo.sort",
              str("dimension = ", node.attrs.integer("axis"), " : i64, is_stable = true"));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"keys with values",
                                         {s32_input({4, 3}, 0, 4), f64_input({4, 3})},
                                         [](Graph&, Inputs in) {
                                           return sort({in[0], in[1]}, 0, [](Graph&, Inputs x) {
                                             return Tensors{compare(x[0], x[1], Compare::lt)};
                                           });
                                         }}};
        }};

// Not implemented with sort: XLA's CPU has a dedicated top-k that is several hundred times faster.
constinit const Op kTopK{
    .name = "top_k",
    .infer =
        [](const Node& node) {
          Shape best = node.inputs[0].shape();
          const std::int64_t k = node.attrs.integer("k");
          if (best.rank() == 0 || k < 1 || k > best.dims.back())
            throw UsageError(str("top_k: k is ", k, ", out of range for ", best),
                             best.rank() == 0 ? "use a tensor with at least one axis"
                                              : str("choose k from 1 to ", best.dims.back()));
          best.dims.back() = k;
          return std::vector<Shape>{best, {DType::s32, best.dims}};
        },
    .vjp = nullptr,
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "chlo.top_k", str("k = ", node.attrs.integer("k"), " : i64"));
        },
    .examples =
        [] {
          return std::vector<OpExample>{
              {"rows", {f64_input({3, 6})}, [](Graph&, Inputs in) { return top_k(in[0], 2); }},
              {"ties", {s32_input({2, 2, 7}, 0, 3)}, [](Graph&, Inputs in) {
                 return top_k(in[0], 5);
               }}};
        }};

std::vector<Tensor> sort(const std::vector<Tensor>& operands, std::int64_t axis,
                         const RegionBuilder& less) {
  CHECK(!operands.empty(), "sort of nothing");
  const std::int64_t at = positive_axis("sort", axis, operands[0].shape());
  std::vector<Shape> scalars;
  for (const Tensor& t : operands) scalars.insert(scalars.end(), 2, Shape{t.dtype(), {}});
  return results_of(apply(kSort, operands, {{"axis", at}}, {make_region(scalars, less)}).node());
}

std::vector<Tensor> top_k(Tensor x, std::int64_t k) {
  return results_of(apply(kTopK, {x}, {{"k", k}}).node());
}

}  // namespace smelt::compiler
