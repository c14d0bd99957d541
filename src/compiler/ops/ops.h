// The primitives as functions on tensors: StableHLO's names, plus operators that broadcast.
// Wrong shapes throw UsageError naming the op and both shapes (https://openxla.org/stablehlo/spec).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace smelt {

// ---- leaves (they take the graph) ----
Tensor constant(Graph& graph, double value, DType dtype, Dims dims = {});    // a splat
Tensor constant(Graph& graph, std::span<const double> values, Shape shape);  // row-major
Tensor literal(Graph& graph, Shape shape,
               std::vector<std::byte> bytes);  // all elements' bytes, or one's
Tensor iota(Graph& graph, Shape shape, std::int64_t axis);
Tensor zeros_like(Tensor x);
Tensor ones_like(Tensor x);
Tensor full_like(Tensor x, double value);

// ---- elementwise, one operand (floats; neg, abs, sign, bitwise_not also take integers) ----
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
Tensor is_finite(Tensor x);  // -> pred
Tensor convert(Tensor x, DType dtype);
// A weight as a narrower type for a product. Unlike convert's, its gradient is not rounded on the
// way: products and sums give it in x's type.
Tensor rounded(Tensor x, DType dtype);
Tensor bitcast_convert(Tensor x, DType dtype);  // same size of element
Tensor stop_gradient(Tensor x);
// `value`, whose gradient is that of `source`.
Tensor straight_through(Tensor value, Tensor source);
// What a TPU's products make of x, where they are not exact: the bits that bf16 holds, in x's type.
// So is its cotangent.
Tensor round_like_mxu(Tensor x);
Tensor optimization_barrier(Tensor x);
std::vector<Tensor> optimization_barrier(const std::vector<Tensor>& xs);

// ---- elementwise, two operands: same element type; shapes broadcast as NumPy's do, by explicit
// broadcast_in_dim nodes in the graph ----
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
Tensor compare(Tensor a, Tensor b, Compare direction);  // -> pred
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

// ---- reductions; negative axes count from the end; KeepDims::yes leaves size-1 axes ----
enum class KeepDims { no, yes };
Tensor reduce_sum(Tensor x, const Dims& axes, KeepDims keep = KeepDims::no);
Tensor reduce_max(Tensor x, const Dims& axes, KeepDims keep = KeepDims::no);
Tensor argmax(Tensor x, std::int64_t axis);  // -> s32, first of equals

// ---- layout ----
Tensor reshape(Tensor x, Dims dims);
Tensor transpose(Tensor x, const Dims& permutation);
Tensor broadcast_in_dim(Tensor x, Dims dims, const Dims& broadcast_dims);
Tensor broadcast_to(Tensor x, const Dims& dims);  // NumPy's rule
Tensor slice(Tensor x, const Dims& start, const Dims& limit, Dims stride = {});
Tensor slice_axis(Tensor x, std::int64_t axis, std::int64_t start, std::int64_t limit);
Tensor dynamic_slice(Tensor x, const std::vector<Tensor>& start,
                     const Dims& sizes);  // start: scalars
Tensor dynamic_update_slice(Tensor x, Tensor update, const std::vector<Tensor>& start);
Tensor pad(Tensor x, double value, const Dims& low, const Dims& high, Dims interior = {});
Tensor concatenate(const std::vector<Tensor>& xs, std::int64_t axis);
Tensor reverse(Tensor x, const Dims& axes);

// ---- matrix product: result dims are batch, then a's free, then b's free dimensions ----
struct DotDims {
  Dims batch_a, batch_b, contract_a, contract_b;
};
// Adds in f32 or wider; `result` (the operands' type if not given) is what the sums are rounded to.
Tensor dot_general(Tensor a, Tensor b, const DotDims& dims, std::optional<DType> result = {});
Tensor matmul(Tensor a,
              Tensor b);  // [..., m, k] x [k, n] (b of rank 2) or batched with equal leading dims

// ---- rows by index: table [V, ...], ids s32 [...] -> ids.dims + table.dims[1:] ----
Tensor gather_rows(Tensor table, Tensor ids);  // an id out of range is clamped (StableHLO's rule)
// Each row's own: x [B,K,...], ids s32 [B,J] -> [B,J,...], item ids[b,j] of x[b]; an id out of
// range is clamped. A mesh that splits B splits this. No gradient.
Tensor gather_items(Tensor x, Tensor ids);
// table with rows[i] added at ids[i]: rows has shape ids.dims + table.dims[1:]; out of range =
// dropped.
Tensor scatter_add_rows(Tensor table, Tensor ids, Tensor rows);

// ---- control ----
using RegionBuilder = std::function<std::vector<Tensor>(Graph&, std::span<const Tensor>)>;
// Carries `init` through `body` while `condition` (one pred scalar) holds; both may use what is
// outside of them. No gradient.
std::vector<Tensor> while_loop(const std::vector<Tensor>& init, const RegionBuilder& condition,
                               const RegionBuilder& body);
// Sorts all operands together along `axis` by the comparator over (a0, b0, a1, b1, …) -> pred.
// Stable.
std::vector<Tensor> sort(const std::vector<Tensor>& operands, std::int64_t axis,
                         const RegionBuilder& less);
// Largest k along the last axis, descending, first of equals first: {values, s32 indices}.
std::vector<Tensor> top_k(Tensor x, std::int64_t k);

// ---- devices ----
// How x is split over the mesh: mesh axes (or none) for each dimension; its cotangent likewise, or
// as `gradient_axes` say.
Tensor sharding_constraint(Tensor x, const DimAxes& axes);
Tensor sharding_constraint(Tensor x, const DimAxes& axes, const DimAxes& gradient_axes);
// The next three speak to all replicas of a program compiled with num_replicas = `replicas`; every
// replica gives an x of the same shape.
// The sum, added in whatever order the platform likes: the same bits on all replicas, not in all
// runs.
Tensor all_reduce_sum(Tensor x, std::int64_t replicas);
// Every replica's x, joined along `axis` in order of the replicas.
Tensor all_gather(Tensor x, std::int64_t axis, std::int64_t replicas);
// x is cut along `split_axis` into one slice for each replica; what replica r gets, slice r of
// every replica's x, is joined along `concat_axis` in order of the replicas.
Tensor all_to_all(Tensor x, std::int64_t split_axis, std::int64_t concat_axis,
                  std::int64_t replicas);

// `body` by itself on each of the shards into which a mesh axis cuts `rows` along dimension 0; what
// it takes from outside is whole. Each result, of all shards along a new dimension 0. No gradient.
std::vector<Tensor> per_shard(Graph& graph, const std::string& axis, std::int64_t shards,
                              const std::vector<Tensor>& rows, const RegionBuilder& body);

}  // namespace smelt
