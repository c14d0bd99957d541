// The computation graph of one program. Nodes live in the graph; a Tensor is a value handle to one
// result of a node. Shapes are static and checked when a node is created: a mismatch throws
// UsageError with both shapes. Not thread-safe. A graph must outlive its tensors.
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

namespace smelt::compiler {

class Graph;
struct Node;
struct Op;
struct Region;

// A handle to one result of a node; cheap to copy. An empty Tensor means "no gradient".
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

  // Returns the tensor itself. Throws BugError if it does not have these dimensions. Serves as a
  // comment on the shape that is checked.
  const Tensor& expect(std::initializer_list<std::int64_t> dims) const;

  bool operator==(const Tensor&) const = default;

 private:
  const Node* node_ = nullptr;
  int index_ = 0;
};

// One application of an op; immutable.
struct Node {
  const Op* op = nullptr;
  Graph* graph = nullptr;
  std::int64_t id = 0;  // position in its graph: inputs come before users
  std::vector<Tensor> inputs;
  Attrs attrs;
  std::vector<std::shared_ptr<const Region>> regions;
  std::vector<Shape> results;
};

// A program or a region: nodes in order of creation.
class Graph {
 public:
  Graph() = default;
  // Creates the graph of a region. Its nodes may use tensors of `outer`, which are captured as
  // arguments.
  explicit Graph(Graph* outer) : outer_(outer) {}
  // Moves the nodes. Existing tensors stay valid and belong to the new graph.
  Graph(Graph&& from) noexcept;
  Graph& operator=(Graph&& from) noexcept;

  // Adds an argument of the program or region. Arguments are numbered in order of creation.
  Tensor argument(Shape shape);
  // Appends a node and infers its result shapes. Inputs belong to this graph or an outer one.
  const Node& apply(const Op& op, std::vector<Tensor> inputs, Attrs attrs = {},
                    std::vector<std::shared_ptr<const Region>> regions = {});

  const std::deque<Node>& nodes() const { return nodes_; }
  const std::vector<Tensor>& arguments() const { return arguments_; }

  // The graph around a region under construction; null for a program.
  Graph* outer() const { return outer_; }
  int depth() const { return outer_ ? outer_->depth() + 1 : 0; }
  // Returns t, or the argument that stands for t if it belongs to an outer graph.
  Tensor capture(Tensor t);
  // A tensor of the outer graph and the argument that stands for it.
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

// The body of an op such as reduce, while or sort: a self-contained graph.
struct Region {
  Graph graph;
  std::vector<Tensor> results;
};

// Returns the nodes that `results` depend on, each once and in order of id (inputs before users).
// Does not recurse, so deep graphs are safe.
std::vector<const Node*> reachable(std::span<const Tensor> results);

}  // namespace smelt::compiler

template <>
struct std::hash<smelt::compiler::Tensor> {
  std::size_t operator()(const smelt::compiler::Tensor& t) const noexcept {
    return std::hash<const void*>()(t ? &t.node() : nullptr) * 31 + t.index();
  }
};

namespace smelt::compiler {

// Maps tensors of one graph to tensors of another.
using NodeMap = std::unordered_map<Tensor, Tensor>;
// Copies the nodes that `results` depend on into `graph`, except tensors already in `map`, and adds
// the copies to `map`. `map` must contain every argument that `results` depend on. Returns the
// copied results.
std::vector<Tensor> copy_nodes(std::span<const Tensor> results, Graph& graph, NodeMap& map);
// Returns a region that computes `results` from `arguments`, a copy of that part of the graph.
// `arguments` may be any tensors; they become the region's arguments, in this order.
std::shared_ptr<const Region> region_of(std::span<const Tensor> arguments,
                                        std::span<const Tensor> results);

}  // namespace smelt::compiler
