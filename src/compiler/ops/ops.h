// The primitive ops as functions on tensors, with StableHLO's names
// (https://openxla.org/stablehlo/spec), and operators that broadcast. Wrong shapes throw UsageError
// with the op and both shapes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace smelt::compiler {

// ---- constants ----
Tensor constant(Graph& graph, double value, DType dtype, Dims dims = {});  // all elements equal
// Returns a constant with these values in row-major order.
Tensor constant(Graph& graph, std::span<const double> values, Shape shape);
// Returns a constant from raw bytes: of all elements in row-major order, or of one element that is
// repeated.
Tensor literal(Graph& graph, Shape shape, std::vector<std::byte> bytes);
Tensor iota(Graph& graph, Shape shape, std::int64_t axis);
Tensor zeros_like(Tensor x);
Tensor ones_like(Tensor x);
Tensor full_like(Tensor x, double value);

// ---- elementwise unary ops on floats; neg, abs, sign and bitwise_not also take integers ----
Tensor neg(Tensor x);
Tensor exp(Tensor x);
Tensor log(Tensor x);
Tensor log1p(Tensor x);
Tensor expm1(Tensor x);
Tensor tanh(Tensor x);
Tensor logistic(Tensor x);
Tensor sqrt(Tensor x);
Tensor rsqrt(Tensor x);
Tensor erf(Tensor x);
Tensor sin(Tensor x);
Tensor cos(Tensor x);
Tensor abs(Tensor x);
Tensor sign(Tensor x);
Tensor floor(Tensor x);
Tensor ceil(Tensor x);
Tensor round_nearest_even(Tensor x);
Tensor bitwise_not(Tensor x);
Tensor is_finite(Tensor x);  // returns pred
Tensor convert(Tensor x, DType dtype);
// Converts a weight to a narrower type for a matmul. Unlike convert(), does not round the gradient
// to the narrow type: the gradient rules of matmuls and sums compute it in the type of x.
Tensor rounded(Tensor x, DType dtype);
Tensor bitcast_convert(Tensor x, DType dtype);  // types of equal size
Tensor stop_gradient(Tensor x);
// Returns `value`, with the gradient of `source` (straight-through estimator).
Tensor straight_through(Tensor value, Tensor source);
// Rounds x to the precision of bf16 but keeps its type, as a TPU's matrix unit does with matmul
// operands. Has no effect if HloForm::exact_products is set. The cotangent is rounded too.
Tensor round_like_mxu(Tensor x);
Tensor optimization_barrier(Tensor x);
std::vector<Tensor> optimization_barrier(const std::vector<Tensor>& xs);

// ---- elementwise binary ops: equal element types; shapes broadcast by NumPy's rules, with
// explicit broadcast_in_dim nodes in the graph ----
Tensor add(Tensor a, Tensor b);
Tensor subtract(Tensor a, Tensor b);
Tensor multiply(Tensor a, Tensor b);
Tensor divide(Tensor a, Tensor b);
Tensor remainder(Tensor a, Tensor b);
Tensor power(Tensor a, Tensor b);
Tensor maximum(Tensor a, Tensor b);
Tensor minimum(Tensor a, Tensor b);
Tensor bitwise_and(Tensor a, Tensor b);
Tensor bitwise_or(Tensor a, Tensor b);
Tensor bitwise_xor(Tensor a, Tensor b);
Tensor shift_left(Tensor a, Tensor b);
Tensor shift_right_logical(Tensor a, Tensor b);

enum class Compare { eq, ne, lt, le, gt, ge };
Tensor compare(Tensor a, Tensor b, Compare direction);  // returns pred
Tensor select(Tensor pred, Tensor on_true, Tensor on_false);
Tensor clamp(Tensor low, Tensor x, Tensor high);

inline Tensor operator+(Tensor a, Tensor b) { return add(a, b); }
inline Tensor operator-(Tensor a, Tensor b) { return subtract(a, b); }
inline Tensor operator*(Tensor a, Tensor b) { return multiply(a, b); }
inline Tensor operator/(Tensor a, Tensor b) { return divide(a, b); }
inline Tensor operator-(Tensor x) { return neg(x); }
inline Tensor operator+(Tensor a, double b) { return add(a, constant(a.graph(), b, a.dtype())); }
inline Tensor operator-(Tensor a, double b) {
  return subtract(a, constant(a.graph(), b, a.dtype()));
}
inline Tensor operator*(Tensor a, double b) {
  return multiply(a, constant(a.graph(), b, a.dtype()));
}
inline Tensor operator/(Tensor a, double b) { return divide(a, constant(a.graph(), b, a.dtype())); }
inline Tensor operator+(double a, Tensor b) { return add(constant(b.graph(), a, b.dtype()), b); }
inline Tensor operator-(double a, Tensor b) {
  return subtract(constant(b.graph(), a, b.dtype()), b);
}
inline Tensor operator*(double a, Tensor b) {
  return multiply(constant(b.graph(), a, b.dtype()), b);
}
inline Tensor operator/(double a, Tensor b) { return divide(constant(b.graph(), a, b.dtype()), b); }

// ---- reductions; negative axes count from the end; KeepDims::yes keeps reduced axes with size 1
// ----
enum class KeepDims { no, yes };
Tensor reduce_sum(Tensor x, const Dims& axes, KeepDims keep = KeepDims::no);
Tensor reduce_max(Tensor x, const Dims& axes, KeepDims keep = KeepDims::no);
Tensor argmax(Tensor x, std::int64_t axis);  // s32; the first index on ties

// ---- layout ----
Tensor reshape(Tensor x, Dims dims);
Tensor transpose(Tensor x, const Dims& permutation);
Tensor broadcast_in_dim(Tensor x, Dims dims, const Dims& broadcast_dims);
Tensor broadcast_to(Tensor x, const Dims& dims);  // NumPy's rules
Tensor slice(Tensor x, const Dims& start, const Dims& limit, Dims stride = {});
Tensor slice_axis(Tensor x, std::int64_t axis, std::int64_t start, std::int64_t limit);
Tensor dynamic_slice(Tensor x, const std::vector<Tensor>& start,
                     const Dims& sizes);  // start: one integer scalar per axis
Tensor dynamic_update_slice(Tensor x, Tensor update, const std::vector<Tensor>& start);
Tensor pad(Tensor x, double value, const Dims& low, const Dims& high, Dims interior = {});
Tensor concatenate(const std::vector<Tensor>& xs, std::int64_t axis);
Tensor reverse(Tensor x, const Dims& axes);

// ---- matmul; the axes of the result are: batch, free axes of a, free axes of b ----
struct DotDims {
  Dims batch_a, batch_b, contract_a, contract_b;
};
// Returns the matmul of a and b over these axes. Accumulates in f32 or wider and rounds to the type
// `result` (default: the operands' type).
Tensor dot_general(Tensor a, Tensor b, const DotDims& dims, std::optional<DType> result = {});
// Returns a x b: [..., m, k] x [k, n], or a batched matmul of operands with equal leading
// dimensions.
Tensor matmul(Tensor a, Tensor b);

// ---- lookup by index: table [V, ...], ids s32 [...] -> ids.dims + table.dims[1:] ----
Tensor gather_rows(Tensor table, Tensor ids);  // clamps ids to the valid range
// Batched lookup: x [B,K,...], ids s32 [B,J] -> [B,J,...] with x[b, ids[b,j]]. Ids are clamped to
// the valid range. A sharding of B is preserved. Has no gradient.
Tensor gather_items(Tensor x, Tensor ids);
// Moves items: x [B,K,...], from s32 [B,J] -> [B,J,...] with x[b, from[b,j]], and 0 where from[b,j]
// is negative. `to` s32 [B,K] is the inverse, which the gradient needs: to[b,k] is the j with
// from[b,j] = k, or negative if item k is not moved anywhere. No item may be moved twice.
Tensor move_items(Tensor x, Tensor from, Tensor to);
// Returns the table with rows[i] added at index ids[i]. `rows` has shape ids.dims + table.dims[1:].
// Rows whose id is out of range are dropped.
Tensor scatter_add_rows(Tensor table, Tensor ids, Tensor rows);

// ---- control ----
using RegionBuilder = std::function<std::vector<Tensor>(Graph&, std::span<const Tensor>)>;
// Runs `body` on the carried values, starting with `init`, while `condition` returns true (one pred
// scalar). Both may use tensors of the outer graph. Has no gradient.
std::vector<Tensor> while_loop(const std::vector<Tensor>& init, const RegionBuilder& condition,
                               const RegionBuilder& body);
// Sorts all operands together along `axis` with the comparator (a0, b0, a1, b1, …) -> pred. The
// sort is stable. Has no gradient.
std::vector<Tensor> sort(const std::vector<Tensor>& operands, std::int64_t axis,
                         const RegionBuilder& less);
// Returns {values, s32 indices} of the k largest elements along the last axis, in descending order;
// on ties the first one comes first. Has no gradient.
std::vector<Tensor> top_k(Tensor x, std::int64_t k);

// ---- devices ----
// Sets the sharding of x: mesh axes (or none) for each dimension. The cotangent gets the same
// sharding, or `gradient_axes` if given.
Tensor sharding_constraint(Tensor x, const DimAxes& axes);
Tensor sharding_constraint(Tensor x, const DimAxes& axes, const DimAxes& gradient_axes);
// The next three are collectives over all replicas of a program compiled with num_replicas =
// `replicas`. Every replica passes an x of the same shape. Only all_gather() has a gradient.
// Returns the sum over replicas. All replicas get the same bits, but the order of the additions,
// and so the bits, may differ between runs.
Tensor all_reduce_sum(Tensor x, std::int64_t replicas);
// Concatenates x of all replicas along `axis`, in order of the replicas. The gradient is that of a
// loss which is summed over replicas.
Tensor all_gather(Tensor x, std::int64_t axis, std::int64_t replicas);
// Splits x along `split_axis` into one slice per replica. Replica r receives slice r of every
// replica and concatenates them along `concat_axis`, in order of the replicas.
Tensor all_to_all(Tensor x, std::int64_t split_axis, std::int64_t concat_axis,
                  std::int64_t replicas);

// Runs `body` once per shard of a mesh axis (shard_map in JAX). `rows` are split along dimension 0;
// captured tensors are replicated. Each result gets a new dimension 0 that indexes the shards. Has
// no gradient.
std::vector<Tensor> per_shard(Graph& graph, const std::string& axis, std::int64_t shards,
                              const std::vector<Tensor>& rows, const RegionBuilder& body);

}  // namespace smelt::compiler
