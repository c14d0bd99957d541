// A loop whose body is a graph with a gradient: `length` iterations over the slices of stacked
// tensors. The reverse pass is such a loop again, backwards, over what the forward one saved.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace smelt {

// What each iteration leaves for the reverse pass; the rest is computed again there.
enum class RematPolicy {
  none,      // nothing: the loop has no gradient
  all,       // whatever the reverse pass reads, but for what follows from constants (random bits)
  products,  // results of loops, sums, maxima and matrix products, but not products larger than
             // both factors (scores)
  layer,     // what the iteration begins with
};

// The body of a scan while it is built. It may use tensors from outside, which are the same in
// every iteration.
class ScanBody {
 public:
  Graph& graph() { return graph_; }
  Graph& outer() const { return *graph_.outer(); }
  Tensor index() const { return index_; }  // s32 scalar: which slice, 0 … length-1
  // stacked[index]: of a tensor [length, …] from outside.
  Tensor slice(Tensor stacked);

 private:
  friend class ScanBuilder;
  ScanBody(Graph& outer, std::int64_t length);

  std::int64_t length_;
  Graph graph_;
  Tensor index_;
  std::vector<std::pair<Tensor, Tensor>> slices_;  // stacked, argument
};

struct ScanStep {
  std::vector<Tensor> carry;         // of the shapes that it began with
  std::vector<Tensor> outputs = {};  // of a body: one iteration's; of the scan: [length, …]
};

using ScanFunction = std::function<ScanStep(ScanBody&, std::span<const Tensor> carry)>;

// carry, outputs[i] = body(carry) for i = 0 … length-1. What the reverse pass reads of a body
// without a carry it keeps of what depends on its slices. One iteration becomes no loop: the body
// as it is, whose reverse pass makes again what was not saved. UsageError when the body changes the
// shape of what it carries; grad throws where Save::none was asked for. The gradient of what is
// used from outside is a sum over iterations, in f32 or wider.
ScanStep scan(Graph& graph, std::int64_t length, const std::vector<Tensor>& init, RematPolicy save,
              const ScanFunction& body);

}  // namespace smelt
