// A differentiable loop: `length` iterations over the slices of stacked tensors. Its reverse pass
// is a second loop that runs backwards over the values stored by the forward loop.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/choice.h"
#include "compiler/ir/graph.h"

namespace smelt::compiler {

// The intermediate values of an iteration that are stored for the reverse pass. All others are
// recomputed there (rematerialization).
enum class RematPolicy {
  none,  // nothing is stored: the loop has no gradient
  // every value that the reverse pass reads, unless it depends on constants only (random bits)
  all,
  products,  // results of loops, sums, maxima and matmuls, except batched matmuls that are larger
             // than both operands (attention scores)
  layer,     // only the inputs of the iteration
};
inline constexpr NamedValues<RematPolicy, 3> kRematPolicies{{{"all", RematPolicy::all},
                                                             {"products", RematPolicy::products},
                                                             {"layer", RematPolicy::layer}}};
constexpr const NamedValues<RematPolicy, 3>& words_of(RematPolicy) { return kRematPolicies; }

// The body of a scan under construction. It may use tensors of the outer graph; these are the same
// in every iteration.
class ScanBody {
 public:
  Graph& graph() { return graph_; }
  Graph& outer() const { return *graph_.outer(); }
  Tensor index() const { return index_; }  // s32 scalar: the current iteration, 0 … length-1
  // Returns stacked[index]. `stacked` is a tensor [length, …] of the outer graph.
  Tensor slice(Tensor stacked);

 private:
  friend class ScanBuilder;
  ScanBody(Graph& outer, std::int64_t length);

  std::int64_t length_;
  Graph graph_;
  Tensor index_;
  std::vector<std::pair<Tensor, Tensor>> slices_;  // (stacked tensor, argument of the body)
};

// The results of a scan or of one iteration of its body.
struct ScanStep {
  std::vector<Tensor> carry;         // same shapes as the initial carry
  std::vector<Tensor> outputs = {};  // body: outputs of one iteration; scan: stacked, [length, …]
};

using ScanFunction = std::function<ScanStep(ScanBody&, std::span<const Tensor> carry)>;

// Computes (carry, outputs[i]) = body(carry) for i = 0 … length-1, beginning with carry = `init`.
// Returns the last carry and the stacked outputs. A scan of length 1 is emitted without a loop; its
// reverse pass recomputes what was not stored. Gradients of captured outer tensors are summed over
// iterations in f32 or wider. Throws UsageError if the body changes the shape of a carried value.
// grad() throws if the policy is RematPolicy::none.
ScanStep scan(Graph& graph, std::int64_t length, const std::vector<Tensor>& init, RematPolicy save,
              const ScanFunction& body);

}  // namespace smelt::compiler
