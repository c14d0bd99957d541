#include "compiler/ir/graph.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "compiler/ir/op.h"

namespace smelt::compiler {

Graph& Tensor::graph() const { return *node_->graph; }
const Shape& Tensor::shape() const { return node_->results[index_]; }

std::int64_t Tensor::dim(std::int64_t axis) const {
  const std::int64_t i = axis < 0 ? axis + rank() : axis;
  CHECK(i >= 0 && i < rank(), "axis ", axis, " of ", shape());
  return dims()[i];
}

const Tensor& Tensor::expect(std::initializer_list<std::int64_t> dims) const {
  CHECK(shape().dims == Dims(dims), "got ", shape(), ", expected ", dims_text(dims));
  return *this;
}

namespace {

// Arguments have no inputs and emit nothing: the function signature declares them.
const Op kArgument{
    .name = "argument", .infer = nullptr, .vjp = nullptr, .emit = nullptr, .examples = nullptr};

}  // namespace

Graph::Graph(Graph&& from) noexcept { *this = std::move(from); }

Graph& Graph::operator=(Graph&& from) noexcept {
  nodes_ = std::move(from.nodes_);  // moving a deque does not move its elements
  arguments_ = std::move(from.arguments_);
  outer_ = from.outer_;
  captured_ = std::move(from.captured_);
  for (Node& node : nodes_) node.graph = this;
  return *this;
}

Tensor Graph::argument(Shape shape) {
  Node& node = nodes_.emplace_back();
  node.op = &kArgument;
  node.graph = this;
  node.id = static_cast<std::int64_t>(nodes_.size()) - 1;
  node.results = {std::move(shape)};
  return arguments_.emplace_back(&node, 0);
}

const Node& Graph::apply(const Op& op, std::vector<Tensor> inputs, Attrs attrs,
                         std::vector<std::shared_ptr<const Region>> regions) {
  Node node{.op = &op,
            .graph = this,
            .id = static_cast<std::int64_t>(nodes_.size()),
            .inputs = std::move(inputs),
            .attrs = std::move(attrs),
            .regions = std::move(regions),
            .results = {}};
  for (Tensor& input : node.inputs) {
    CHECK(input, op.name, ": an input is empty");
    input = capture(input);
  }
  node.id = static_cast<std::int64_t>(nodes_.size());  // capture() may have added nodes
  node.results = op.infer(node);
  return nodes_.emplace_back(std::move(node));
}

Tensor Graph::capture(Tensor t) {
  if (&t.graph() == this) return t;
  CHECK(outer_ != nullptr, t.node().op->name, ": an input belongs to another graph");
  const Tensor outside = outer_->capture(t);
  for (const Captured& known : captured_)
    if (known.outside == outside) return known.argument;
  captured_.push_back({outside, argument(outside.shape())});
  return captured_.back().argument;
}

// Returns the nodes that `results` depend on, in order of id, except those already in `given`.
static std::vector<const Node*> needed(std::span<const Tensor> results, const NodeMap& given) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> found;
  const auto visit = [&](Tensor t) {
    if (!given.contains(t) && seen.insert(&t.node()).second) found.push_back(&t.node());
  };
  for (const Tensor& t : results) visit(t);
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const Tensor& input : found[i]->inputs) visit(input);
  std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->id < b->id; });
  return found;
}

std::vector<const Node*> reachable(std::span<const Tensor> results) { return needed(results, {}); }

std::vector<Tensor> copy_nodes(std::span<const Tensor> results, Graph& graph, NodeMap& map) {
  const std::vector<const Node*> found = needed(results, map);
  for (const Node* node : found) {
    CHECK(node->op != &kArgument, "copy_nodes: an argument is missing in the map");
    std::vector<Tensor> inputs;
    for (const Tensor& input : node->inputs) inputs.push_back(map.at(input));
    const Node& copy = graph.apply(*node->op, std::move(inputs), node->attrs, node->regions);
    for (int i = 0; i < static_cast<int>(node->results.size()); ++i)
      map.try_emplace(Tensor(node, i), Tensor(&copy, i));
  }
  std::vector<Tensor> out;
  for (const Tensor& t : results) out.push_back(map.at(t));
  return out;
}

std::shared_ptr<const Region> region_of(std::span<const Tensor> arguments,
                                        std::span<const Tensor> results) {
  const auto region = std::make_shared<Region>();
  NodeMap map;
  for (const Tensor& t : arguments) map.emplace(t, region->graph.argument(t.shape()));
  region->results = copy_nodes(results, region->graph, map);
  return region;
}

}  // namespace smelt::compiler
