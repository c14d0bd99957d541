#include "model/nn/attention.h"

#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::concatenate;
using compiler::constant;
using compiler::convert;
using compiler::cos;
using compiler::Dims;
using compiler::DType;
using compiler::dynamic_slice;
using compiler::exp;
using compiler::full_like;
using compiler::Graph;
using compiler::KeepDims;
using compiler::log;
using compiler::optimization_barrier;
using compiler::pad;
using compiler::reduce_max;
using compiler::reduce_sum;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::reverse;
using compiler::round_like_mxu;
using compiler::scan;
using compiler::ScanBody;
using compiler::ScanStep;
using compiler::sin;
using compiler::slice_axis;
using compiler::stop_gradient;
using compiler::straight_through;
using compiler::Tensor;
using compiler::transpose;
using compiler::zeros_like;
namespace {

// ---- relative positions ----

// Converts scores indexed by relative position [B,N,R,S+R-1] to scores indexed by key [B,N,R,S]:
// shifts row q left by R-1-q.
Tensor by_key(Tensor x) {
  const auto B = x.dim(0), N = x.dim(1), R = x.dim(2), W = x.dim(3);
  if (R == 1) return x;
  const Tensor flat = slice_axis(reshape(x, {B, N, R * W}), 2, R - 1, R * W - 1);
  return slice_axis(reshape(flat, {B, N, R, W - 1}), 3, 0, W - R + 1);
}

// Converts the products of keys and relative positions of queries [B,N,S,S+R-1] to scores
// [B,N,R,S]. From a key, relative positions increase where those of the query decrease.
Tensor by_query(Tensor x) { return transpose(by_key(reverse(x, {3})), {0, 1, 3, 2}); }

// Inverts by_key(), with zeros at relative positions that have no key.
Tensor by_distance(Tensor x) {
  const auto B = x.dim(0), N = x.dim(1), R = x.dim(2), W = x.dim(3) + R - 1;
  if (R == 1) return x;
  const Tensor wide = pad(x, 0, {0, 0, 0, 0}, {0, 0, 0, R - 2});
  const Tensor flat = reshape(wide, {B, N, R * (W - 1)});
  return reshape(pad(flat, 0, {0, 0, R - 1}, {0, 0, 1}), {B, N, R, W});
}

// ---- attention of one block of queries ----

// The values of attention, with optional relative values.
struct Values {
  Tensor v, relative;
  // Returns the sum of the values weighted by [B,N,R,S], in the type of the weights.
  Tensor weighted(Tensor weights) const {
    const auto as = [&](Tensor t) { return convert(t, weights.dtype()); };
    const Tensor sum = einsum("bnqk,bknd->bqnd", weights, as(v));
    return relative ? sum + einsum("bnqr,rnd->bqnd", by_distance(weights), as(relative)) : sum;
  }
};

// Returns whether multiplication by `factor` is exact in floating point.
bool is_power_of_two(double factor) { return std::exp2(std::round(std::log2(factor))) == factor; }

// Returns a bias [B,1,R,S]: 0 if query and key belong to the same sequence, else kMaskedScore.
Tensor other_sequences(const Scope& s, const AttentionInputs& in, DType dtype) {
  const Tensor queries = s.graph().capture(in.query_sequences);
  const Tensor keys = s.graph().capture(in.key_sequences);
  const auto B = keys.dim(0), R = queries.dim(1), S = keys.dim(1);
  const auto wide = [&](Tensor t, Dims dims) {
    return broadcast_to(reshape(t, dims), {B, 1, R, S});
  };
  const Tensor differ = compare(wide(queries, {B, 1, R, 1}), wide(keys, {B, 1, 1, S}), Compare::ne);
  return convert(differ, dtype) * kMaskedScore;
}

// Returns the attention scores, f32 [B,N,R,S].
Tensor scores_of(const Scope& s, const AttentionInputs& in) {
  const auto B = in.q.dim(0), R = in.q.dim(1), N = in.q.dim(2), D = in.q.dim(3), S = in.k.dim(1);
  const auto wide = in.q.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const double scale = in.scaled ? 1.0 / std::sqrt(in.products * D) : 1;
  // Scaling the queries is cheaper than scaling the scores, but exact only for powers of two. It
  // does not scale the products of keys and relative_q.
  const bool scale_queries = is_power_of_two(scale) && !in.relative_q;
  const Tensor q = scale_queries ? in.q * scale : in.q;
  Tensor scores = einsum("bqnd,bknd->bnqk", q, in.k, wide);
  if (in.relative_k) scores = scores + by_key(einsum("bqnd,rnd->bnqr", q, in.relative_k, wide));
  if (in.relative_q)
    scores = scores + by_query(einsum("bknd,rnd->bnkr", in.k, in.relative_q, wide));
  if (!scale_queries) scores = scores * scale;
  // Capture each bias before the addition broadcasts it to the shape of the scores; otherwise the
  // broadcast bias would be computed outside the region.
  for (const Tensor& bias : in.biases) scores = scores + s.graph().capture(bias);
  if (in.key_sequences) scores = scores + other_sequences(s, in, wide);
  return scores.expect({B, N, R, S});
}

// The exponentials exp(scores - maximum) and their sums over keys. The maximum is computed by a
// separate matmul so that the scores are never stored. The exponentials are stored, rounded like
// matmul operands, and the sums are sums of the rounded values.
struct RoundedExponentials {
  Tensor scores;
  Tensor exponentials;  // f32 [B,N,R,S], without gradient
  Tensor sums;          // f32 [B,N,R,1], with the gradient of the scores
};
RoundedExponentials rounded_exponentials(const Scope& s, const AttentionInputs& in) {
  const Tensor top = stop_gradient(reduce_max(scores_of(s, in), {-1}, KeepDims::yes));
  AttentionInputs again = in;
  again.q = optimization_barrier(in.q);
  const Tensor scores = scores_of(s, again);
  const Tensor all = stop_gradient(round_like_mxu(exp(scores - top)));
  const DType kept = s.compute().exact_products ? all.dtype() : DType::bf16;
  const Tensor stored =
      stop_gradient(convert(optimization_barrier(convert(all, kept)), all.dtype()));
  return {.scores = scores,
          .exponentials = stored,
          .sums = reduce_sum(straight_through(all, stored * scores), {-1}, KeepDims::yes)};
}

// Computes attention so that the gradient of the softmax sums is derived from the context (D values
// per query) instead of from all keys (Dao et al. 2022, section 3.1). The values multiplied here
// must be rounded exactly like matmul operands; otherwise the gradients of a query's scores would
// not sum to zero. Dropout and the softmax sums scale the context because it is smaller than the
// scores.
Tensor attention_by_context(const Scope& s, const AttentionInputs& in,
                            const std::optional<Block>& block) {
  const auto [scores, exponentials, sums] = rounded_exponentials(s, in);
  const Tensor kept =
      stop_gradient(dropout_unscaled(s / "dropout", exponentials, in.dropout, block));
  const Values values{.v = in.v, .relative = in.relative_v};
  const Tensor sum = values.weighted(straight_through(kept, kept * scores));
  const auto by_query = [](Tensor t) { return transpose(t, {0, 2, 1, 3}); };
  const Tensor with_sums =
      straight_through(sum, round_like_mxu(sum - stop_gradient(sum) * by_query(log(sums))));
  const double scale = s.training() ? 1 / (1 - in.dropout) : 1;
  return with_sums * stop_gradient(by_query(scale / sums));
}

// Returns the context of all queries, or of a block of them.
Tensor context_of(const Scope& s, const AttentionInputs& in, const std::optional<Block>& block) {
  if (s.compute().softmax_by_context)
    return convert(attention_by_context(s, in, block), in.q.dtype());
  const Tensor scores = scores_of(s, in);
  const Values values{.v = in.v, .relative = in.relative_v};
  const Tensor weights = convert(softmax(scores), in.q.dtype());
  return values.weighted(dropout(s / "dropout", weights, in.dropout, block));
}

// ---- blocks of queries ----

// The partition of Q queries into `count` blocks of R queries; the last block is padded with
// `added` queries.
struct QueryBlocks {
  QueryBlocks(std::int64_t Q, std::int64_t max_rows)
      : count((Q - 1) / max_rows + 1), R((Q - 1) / count + 1), added(count * R - Q) {}
  std::int64_t count, R, added;
};

Tensor padded(Tensor x, std::int64_t axis, std::int64_t before, std::int64_t after) {
  if (before + after == 0) return x;
  Dims low(x.dims().size()), high(x.dims().size());
  low[static_cast<std::size_t>(axis)] = before;
  high[static_cast<std::size_t>(axis)] = after;
  return pad(x, 0, low, high);
}

// Splits dimension `axis` (queries) of x into blocks: returns [count, …] with R queries each.
Tensor in_query_blocks(Tensor x, std::int64_t axis, const QueryBlocks& blocks) {
  const Tensor all = padded(x, axis, 0, blocks.added);
  Dims dims = all.dims(), order{axis};
  dims[static_cast<std::size_t>(axis)] = blocks.R;
  dims.insert(dims.begin() + axis, blocks.count);
  for (std::int64_t i = 0; i < std::ssize(dims); ++i)
    if (i != axis) order.push_back(i);
  return transpose(reshape(all, dims), order);
}

// Returns the slice of the padded relative positions that applies to the block that begins at query
// `first`.
Tensor relative_of_block(Tensor relative, Tensor first, const AttentionInputs& in,
                         const QueryBlocks& blocks) {
  const auto R = blocks.R, N = in.q.dim(2), D = in.q.dim(3), S = in.k.dim(1);
  const Tensor zero = zeros_like(first),
               start = full_like(first, static_cast<double>(blocks.count * R - R)) - first;
  return convert(dynamic_slice(relative, {start, zero, zero}, {R + S - 1, N, D}), in.q.dtype());
}

bool has_queries(Tensor bias) { return bias.dim(2) > 1; }

// Prepares the inputs of the loop over blocks: q and per-query biases are split into blocks. Inputs
// shared by all blocks become f32, as their gradients are sums over blocks.
AttentionInputs in_query_blocks(const AttentionInputs& in, const QueryBlocks& blocks) {
  const auto shared = [&](Tensor t) { return t && blocks.count > 1 ? in_f32(t) : t; };
  const auto of_distances = [&](Tensor t) { return t ? padded(shared(t), 0, blocks.added, 0) : t; };
  AttentionInputs out = in;
  for (Tensor& bias : out.biases)
    if (has_queries(bias)) bias = in_query_blocks(bias, 2, blocks);
  out.q = in_query_blocks(in.q, 1, blocks);
  if (in.query_sequences) out.query_sequences = in_query_blocks(in.query_sequences, 1, blocks);
  out.k = shared(in.k);
  out.v = shared(in.v);
  out.relative_k = of_distances(in.relative_k);
  out.relative_v = of_distances(in.relative_v);
  out.relative_q = of_distances(in.relative_q);
  return out;
}

// Returns the inputs of one block whose first query is `first`. Keys and values are converted back
// to the type of q: XLA's CPU does not support batched bf16 matmuls with f32 gradients.
AttentionInputs block_of(ScanBody& body, const AttentionInputs& in, const AttentionInputs& all,
                         Tensor first, const QueryBlocks& blocks) {
  Graph& graph = body.graph();
  AttentionInputs block{.q = body.slice(all.q),
                        .k = convert(graph.capture(all.k), in.q.dtype()),
                        .v = convert(graph.capture(all.v), in.q.dtype()),
                        .biases = all.biases,
                        .key_sequences = in.key_sequences,
                        .dropout = in.dropout,
                        .scaled = in.scaled,
                        .products = in.products};
  for (std::size_t i = 0; i < in.biases.size(); ++i)
    if (has_queries(in.biases[i])) block.biases[i] = body.slice(all.biases[i]);
  if (in.query_sequences) block.query_sequences = body.slice(all.query_sequences);
  for (const auto member :
       {&AttentionInputs::relative_k, &AttentionInputs::relative_v, &AttentionInputs::relative_q})
    if (const Tensor relative = all.*member)
      block.*member = relative_of_block(graph.capture(relative), first, in, blocks);
  return block;
}

Tensor in_blocks(const Scope& s, const AttentionInputs& in, const QueryBlocks& blocks) {
  const std::int64_t Q = in.q.dim(1);
  const AttentionInputs all = in_query_blocks(in, blocks);
  const RematPolicy save = blocks.count > 1 ? RematPolicy::layer : RematPolicy::products;
  const ScanStep done = scan(
      s.graph(), blocks.count, {}, s.compute().save == RematPolicy::none ? RematPolicy::none : save,
      [&](ScanBody& body, std::span<const Tensor>) -> ScanStep {
        const Scope inner = s.within(body.graph(), s.random_source());
        const Tensor first =
            body.index() * constant(body.graph(), static_cast<double>(blocks.R), DType::s32);
        const AttentionInputs block = block_of(body, in, all, first, blocks);
        return {
            .carry = {},
            .outputs = {context_of(inner, block, Block{.axis = 2, .first = first, .whole = Q})}};
      });
  Dims dims = in.q.dims();
  dims[1] += blocks.added;
  const Tensor contexts = reshape(transpose(done.outputs[0], {1, 0, 2, 3, 4}), dims);
  return blocks.added == 0 ? contexts : slice_axis(contexts, 1, 0, Q);
}

}  // namespace

Tensor attention(const Scope& s, const AttentionInputs& in) {
  const std::int64_t Q = in.q.dim(1), max_rows = s.compute().attention_rows;
  const QueryBlocks blocks(Q, max_rows == 0 ? Q : max_rows);
  const bool at_once = blocks.count == 1 && s.compute().stored_scores;
  return at_once ? context_of(s, in, {}) : in_blocks(s, in, blocks);
}

Tensor bias_of_distances(Tensor by_distance, std::int64_t Q) {
  const auto N = by_distance.dim(0), W = by_distance.dim(1);
  return by_key(broadcast_to(reshape(by_distance, {1, N, 1, W}), {1, N, Q, W}));
}

Rotary rotary(Tensor positions, std::int64_t D, double base) {
  if (D % 2 != 0)
    throw UsageError(str("rotary positions: head size is ", D, ", must be even"),
                     "choose heads of even size");
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < D; ++i)
    frequencies.push_back(
        std::pow(base, -static_cast<double>(2 * (i % (D / 2))) / static_cast<double>(D)));
  Dims dims = positions.dims();
  dims.insert(dims.end(), {1, 1});
  const Tensor angles =
      reshape(positions, dims) * constant(positions.graph(), frequencies, {DType::f32, {1, D}});
  return {.cos = cos(angles), .sin = sin(angles)};
}

Tensor rotated(Tensor x, const Rotary& by) {
  const std::int64_t D = x.dim(3);
  const Tensor wide = in_f32(x);
  const Tensor rotated_half =
      concatenate({-slice_axis(wide, 3, D / 2, D), slice_axis(wide, 3, 0, D / 2)}, 3);
  return convert(wide * by.cos + rotated_half * by.sin, x.dtype());
}

}  // namespace smelt::model
