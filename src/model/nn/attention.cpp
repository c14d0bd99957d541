#include "model/nn/attention.h"

#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt {
namespace {

// ---- keys and values by their distance from a query ----

// By distance [B,N,R,S+R-1] -> by key [B,N,R,S]: row q moved to the left by R-1-q.
Tensor by_key(Tensor x) {
  const auto B = x.dim(0), N = x.dim(1), R = x.dim(2), W = x.dim(3);
  if (R == 1) return x;
  const Tensor flat = slice_axis(reshape(x, {B, N, R * W}), 2, R - 1, R * W - 1);
  return slice_axis(reshape(flat, {B, N, R, W - 1}), 3, 0, W - R + 1);
}

// The other way round, with zeros where there is no key.
Tensor by_distance(Tensor x) {
  const auto B = x.dim(0), N = x.dim(1), R = x.dim(2), W = x.dim(3) + R - 1;
  if (R == 1) return x;
  const Tensor wide = pad(x, 0, {0, 0, 0, 0}, {0, 0, 0, R - 2});
  const Tensor flat = reshape(wide, {B, N, R * (W - 1)});
  return reshape(pad(flat, 0, {0, 0, R - 1}, {0, 0, 1}), {B, N, R, W});
}

// ---- one block of queries: the softmax over all keys, or by way of the context ----

struct Values {
  Tensor v, relative;
  // By weights [B,N,R,S], in their type.
  Tensor weighted(Tensor weights) const {
    const auto as = [&](Tensor t) { return convert(t, weights.dtype()); };
    const Tensor sum = einsum("bnqk,bknd->bqnd", weights, as(v));
    return relative ? sum + einsum("bnqr,rnd->bqnd", by_distance(weights), as(relative)) : sum;
  }
};

// Whether a factor leaves all bits of what it scales, as 1/8 does.
bool is_power_of_two(double factor) { return std::exp2(std::round(std::log2(factor))) == factor; }

// f32 [B,N,R,S]
Tensor scores_of(const Scope& s, const AttentionInputs& in) {
  const auto B = in.q.dim(0), R = in.q.dim(1), N = in.q.dim(2), D = in.q.dim(3), S = in.k.dim(1);
  const auto wide = in.q.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const double scale = in.scaled ? 1.0 / std::sqrt(D) : 1;
  // Of queries there are fewer numbers than of scores.
  const bool of_queries = is_power_of_two(scale);
  const Tensor q = of_queries ? in.q * scale : in.q;
  Tensor scores = einsum("bqnd,bknd->bnqk", q, in.k, wide);
  if (in.relative_k) scores = scores + by_key(einsum("bqnd,rnd->bnqr", q, in.relative_k, wide));
  if (!of_queries) scores = scores * scale;
  // Captured before it is broadcast to a head's scores, which would be made outside.
  for (const Tensor& bias : in.biases) scores = scores + s.graph().capture(bias);
  return scores.expect({B, N, R, S});
}

// exp(scores - the largest of a query's) and the sums over keys. The largest are of a product of
// their own, so that scores are never stored: exponentials are, in the bits that products take of
// them, and sums are of those.
struct RoundedExponentials {
  Tensor scores;
  Tensor exponentials;  // f32 [B,N,R,S], without a gradient
  Tensor sums;          // f32 [B,N,R,1], with that of the scores
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

// The gradient of the sums is taken from the context, over a head's numbers for each query, where
// their own is over all keys; nothing of a key waits for the others (Dao et al. 2022, section 3.1).
// A query's scores have a gradient that sums to zero only if what is multiplied here has the bits
// that products take of it: or the difference would come out times what all keys have in common.
// What dropout and sums scale is the context: there are fewer numbers of it.
Tensor by_context(const Scope& s, const AttentionInputs& in, const std::optional<Block>& block) {
  const auto [scores, exponentials, sums] = rounded_exponentials(s, in);
  const Tensor kept = stop_gradient(kept_of(s / "dropout", exponentials, in.dropout, block));
  const Values values{.v = in.v, .relative = in.relative_v};
  const Tensor sum = values.weighted(straight_through(kept, kept * scores));
  const auto by_query = [](Tensor t) { return transpose(t, {0, 2, 1, 3}); };
  const Tensor with_sums =
      straight_through(sum, round_like_mxu(sum - stop_gradient(sum) * by_query(log(sums))));
  const double scale = s.training() ? 1 / (1 - in.dropout) : 1;
  return with_sums * stop_gradient(by_query(scale / sums));
}

// The context of all queries, or of a block of them.
Tensor context_of(const Scope& s, const AttentionInputs& in, const std::optional<Block>& block) {
  if (s.compute().softmax_by_context) return convert(by_context(s, in, block), in.q.dtype());
  const Tensor scores = scores_of(s, in);
  const Values values{.v = in.v, .relative = in.relative_v};
  const Tensor weights = convert(softmax(scores), in.q.dtype());
  return values.weighted(dropout(s / "dropout", weights, in.dropout, block));
}

// ---- blocks of queries ----

// How Q queries are cut: into `count` blocks of R, the last of which may be filled up.
struct QueryBlocks {
  QueryBlocks(std::int64_t Q, std::int64_t most)
      : count((Q - 1) / most + 1), R((Q - 1) / count + 1), added(count * R - Q) {}
  std::int64_t count, R, added;
};

Tensor filled_up(Tensor x, std::int64_t axis, std::int64_t before, std::int64_t behind) {
  if (before + behind == 0) return x;
  Dims low(x.dims().size()), high(x.dims().size());
  low[static_cast<std::size_t>(axis)] = before;
  high[static_cast<std::size_t>(axis)] = behind;
  return pad(x, 0, low, high);
}

// x, whose dimension `axis` is of queries -> [count, …] with R of them in each.
Tensor in_query_blocks(Tensor x, std::int64_t axis, const QueryBlocks& blocks) {
  const Tensor all = filled_up(x, axis, 0, blocks.added);
  Dims dims = all.dims(), order{axis};
  dims[static_cast<std::size_t>(axis)] = blocks.R;
  dims.insert(dims.begin() + axis, blocks.count);
  for (std::int64_t i = 0; i < std::ssize(dims); ++i)
    if (i != axis) order.push_back(i);
  return transpose(reshape(all, dims), order);
}

// The relative positions that a block of queries from `first` on sees, out of those of all queries,
// filled up as they are.
Tensor seen_from(Tensor relative, Tensor first, const AttentionInputs& in,
                 const QueryBlocks& blocks) {
  const auto R = blocks.R, N = in.q.dim(2), D = in.q.dim(3), S = in.k.dim(1);
  const Tensor zero = zeros_like(first),
               start = full_like(first, static_cast<double>(blocks.count * R - R)) - first;
  return convert(dynamic_slice(relative, {start, zero, zero}, {R + S - 1, N, D}), in.q.dtype());
}

bool has_queries(Tensor bias) { return bias.dim(2) > 1; }

// What the loop over blocks takes: q and biases of queries block by block. What blocks share has
// gradients that are sums over them, in f32.
AttentionInputs in_query_blocks(const AttentionInputs& in, const QueryBlocks& blocks) {
  const auto summed = [&](Tensor t) { return t && blocks.count > 1 ? in_f32(t) : t; };
  const auto of_distances = [&](Tensor t) {
    return t ? filled_up(summed(t), 0, blocks.added, 0) : t;
  };
  AttentionInputs out = in;
  for (Tensor& bias : out.biases)
    if (has_queries(bias)) bias = in_query_blocks(bias, 2, blocks);
  out.q = in_query_blocks(in.q, 1, blocks);
  out.k = summed(in.k);
  out.v = summed(in.v);
  out.relative_k = of_distances(in.relative_k);
  out.relative_v = of_distances(in.relative_v);
  return out;
}

// One turn's block of `all`, whose first query is `first`. It has the type of q as it came: XLA's
// CPU has no product of batches of bf16 in f32 whose gradient is f32.
AttentionInputs block_of(ScanBody& body, const AttentionInputs& in, const AttentionInputs& all,
                         Tensor first, const QueryBlocks& blocks) {
  Graph& graph = body.graph();
  AttentionInputs block{.q = body.slice(all.q),
                        .k = convert(graph.capture(all.k), in.q.dtype()),
                        .v = convert(graph.capture(all.v), in.q.dtype()),
                        .biases = all.biases,
                        .dropout = in.dropout,
                        .scaled = in.scaled};
  for (std::size_t i = 0; i < in.biases.size(); ++i)
    if (has_queries(in.biases[i])) block.biases[i] = body.slice(all.biases[i]);
  if (in.relative_k) {
    block.relative_k = seen_from(graph.capture(all.relative_k), first, in, blocks);
    block.relative_v = seen_from(graph.capture(all.relative_v), first, in, blocks);
  }
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
  const std::int64_t Q = in.q.dim(1), most = s.compute().attention_rows;
  const QueryBlocks blocks(Q, most == 0 ? Q : most);
  const bool at_once = blocks.count == 1 && s.compute().stored_scores;
  return at_once ? context_of(s, in, {}) : in_blocks(s, in, blocks);
}

Tensor bias_of_distances(Tensor by_distance, std::int64_t Q) {
  const auto N = by_distance.dim(0), W = by_distance.dim(1);
  return by_key(broadcast_to(reshape(by_distance, {1, N, 1, W}), {1, N, Q, W}));
}

Rotary rotary(Tensor positions, std::int64_t D, double base) {
  if (D % 2 != 0)
    throw UsageError(str("rotary positions: a head of ", D, " numbers has no halves"),
                     "choose heads of even size");
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < D; ++i)
    frequencies.push_back(
        std::pow(base, -static_cast<double>(2 * (i % (D / 2))) / static_cast<double>(D)));
  Dims dims = positions.dims();
  dims.insert(dims.end(), {1, 1});
  const Tensor turns =
      reshape(positions, dims) * constant(positions.graph(), frequencies, {DType::f32, {1, D}});
  return {.cos = cos(turns), .sin = sin(turns)};
}

Tensor rotated(Tensor x, const Rotary& by) {
  const std::int64_t D = x.dim(3);
  const Tensor wide = in_f32(x);
  const Tensor turned =
      concatenate({-slice_axis(wide, 3, D / 2, D), slice_axis(wide, 3, 0, D / 2)}, 3);
  return convert(wide * by.cos + turned * by.sin, x.dtype());
}

}  // namespace smelt
