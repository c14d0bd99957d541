// The graph of one program: nodes in an arena, tensors as value handles on one result of a node.
// Shapes are static and checked when a node is built; a wrong one throws UsageError with both
// shapes. Not thread-safe; a graph outlives its tensors.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/attrs.h"
#include "compiler/ir/shape.h"

namespace smelt {

class Graph;
struct Node;
struct Op;
struct Region;

// A handle on one result of a node; cheap to copy. The empty handle stands for "no gradient flows
// here".
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Node* node, int index) : node_(node), index_(index) {}

  explicit operator bool() const { return node_ != nullptr; }
  const Node& node() const { return *node_; }
  int index() const { return index_; }
  Graph& graph() const;
  const Shape& shape() const;
  DType dtype() const { return shape().dtype; }
  const Dims& dims() const { return shape().dims; }
  std::int64_t rank() const { return shape().rank(); }
  std::int64_t dim(std::int64_t axis) const;  // negative axes count from the end

  // A checked shape comment: returns itself, throws BugError when the dimensions differ.
  const Tensor& expect(std::initializer_list<std::int64_t> dims) const;

  bool operator==(const Tensor&) const = default;

 private:
  const Node* node_ = nullptr;
  int index_ = 0;
};

// One application of an op. Immutable once built.
struct Node {
  const Op* op = nullptr;
  Graph* graph = nullptr;
  std::int64_t id = 0;  // position in its graph: inputs come before users
  std::vector<Tensor> inputs;
  Attrs attrs;
  std::vector<std::shared_ptr<const Region>> regions;
  std::vector<Shape> results;
};

class Graph {
 public:
  Graph() = default;
  // The graph of a region: its nodes may use tensors of `outer`, which become arguments (captured).
  explicit Graph(Graph* outer) : outer_(outer) {}
  // Moving takes the nodes along: tensors stay good and belong to the new graph. No copies.
  Graph(Graph&& from) noexcept;
  Graph& operator=(Graph&& from) noexcept;

  // A new argument of the program (or region); arguments are numbered in order of creation.
  Tensor argument(Shape shape);
  // Checks inputs (this graph or one around it), infers the result shapes by the op's rule and
  // appends the node.
  const Node& apply(const Op& op, std::vector<Tensor> inputs, Attrs attrs = {},
                    std::vector<std::shared_ptr<const Region>> regions = {});

  const std::deque<Node>& nodes() const { return nodes_; }
  const std::vector<Tensor>& arguments() const { return arguments_; }

  // The graph that a region is being built in; null for a program.
  Graph* outer() const { return outer_; }
  int depth() const { return outer_ ? outer_->depth() + 1 : 0; }
  // t itself, or the argument that stands for a tensor of a graph around this one.
  Tensor capture(Tensor t);
  struct Captured {
    Tensor outside, argument;
  };
  const std::vector<Captured>& captured() const { return captured_; }

 private:
  std::deque<Node> nodes_;
  std::vector<Tensor> arguments_;
  Graph* outer_ = nullptr;
  std::vector<Captured> captured_;
};

// The body of a reduce, while, sort …: a graph of its own that, once built, sees nothing from
// outside.
struct Region {
  Graph graph;
  std::vector<Tensor> results;
};

// What `results` need, inputs before users, each node once, in order of id. Iterative: depth is no
// limit.
std::vector<const Node*> reachable(std::span<const Tensor> results);

}  // namespace smelt

template <>
struct std::hash<smelt::Tensor> {
  std::size_t operator()(const smelt::Tensor& t) const noexcept {
    return std::hash<const void*>()(t ? &t.node() : nullptr) * 31 + t.index();
  }
};

namespace smelt {

// What stands for each tensor of one graph in another.
using NodeMap = std::unordered_map<Tensor, Tensor>;
// Copies what `results` need into `graph`, but for what `map` holds already; arguments must be in
// it. The copies are added to `map`.
std::vector<Tensor> copy_nodes(std::span<const Tensor> results, Graph& graph, NodeMap& map);
// A region of such copies: `arguments`, in order, become its arguments, whatever they are here.
std::shared_ptr<const Region> region_of(std::span<const Tensor> arguments,
                                        std::span<const Tensor> results);

}  // namespace smelt
