#include "model/tasks/dynamic_masking.h"

#include <algorithm>

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "model/nn/random.h"

namespace smelt::model {

using compiler::argmax;
using compiler::broadcast_to;
using compiler::clamp;
using compiler::Compare;
using compiler::compare;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::iota;
using compiler::KeepDims;
using compiler::log;
using compiler::maximum;
using compiler::minimum;
using compiler::ones_like;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::round_nearest_even;
using compiler::select;
using compiler::stop_gradient;
using compiler::Tensor;
using compiler::top_k;
using compiler::zeros_like;
namespace {

constexpr double kMaskedShare = 0.85;
constexpr double kNoiseEpsilon = 1e-9;

Tensor as_s32(Tensor pred) { return convert(pred, DType::s32); }

// Returns s32 [B,N,S] with 1 at each position in positions [B,N], except position 0.
Tensor places(Tensor positions, std::int64_t S) {
  const auto B = positions.dim(0), N = positions.dim(1);
  const Tensor some = as_s32(compare(positions, zeros_like(positions), Compare::gt));
  return one_hot(positions, S, DType::s32) * reshape(some, {B, N, 1});
}

// Returns `dims` random keys per row: positive where `allowed` is 1, negative elsewhere.
Tensor random_keys(const Scope& s, Tensor allowed, const Dims& dims) {
  const Tensor key = uniform(s, dims);
  const Tensor fits = broadcast_to(compare(allowed, zeros_like(allowed), Compare::gt), dims);
  return select(fits, key, full_like(key, -1));
}

// Returns s32 [B,N] positions. They are all allowed positions if the row has at least N of them (or
// at least one, for independent draws).
Tensor draw_positions(const Scope& s, const MaskingRule& rule, Tensor allowed) {
  const auto B = allowed.dim(0), S = allowed.dim(1), N = rule.most;
  if (rule.draws == MaskDraws::distinct) return top_k(random_keys(s, allowed, {B, S}), N)[1];
  return argmax(random_keys(s, reshape(allowed, {B, 1, S}), {B, N, S}), -1);
}

// Returns the share of `tokens` to mask in the current step, times `tokens`.
Tensor share_of_tokens(const Scope& s, const MaskingRule& rule, Tensor tokens) {
  if (!rule.last_probability) return tokens * static_cast<float>(rule.probability);
  const double first = rule.probability, last = *rule.last_probability;
  if (!s.training()) return tokens * static_cast<float>(last);
  const Tensor step = convert(s.random_source()->step, DType::f32);
  const Tensor done = minimum(
      step * (1.0 / static_cast<double>(std::max<std::int64_t>(1, rule.steps))), ones_like(step));
  return tokens * broadcast_to(reshape(done * (last - first) + first, {1, 1}), tokens.dims());
}

// Returns s32 [B,1]: the number of masked positions per row.
Tensor count_masks(const Scope& s, const MaskingRule& rule, Tensor allowed, Tensor input_mask) {
  const Tensor tokens = convert(reduce_sum(input_mask, {1}, KeepDims::yes), DType::f32);
  const Tensor wanted = convert(round_nearest_even(share_of_tokens(s, rule, tokens)), DType::s32);
  const Tensor one = ones_like(wanted), most = full_like(wanted, static_cast<double>(rule.most));
  const Tensor available = reduce_sum(allowed, {1}, KeepDims::yes);
  const Tensor count = clamp(one, wanted, most);
  return minimum(count,
                 rule.draws == MaskDraws::distinct ? available : minimum(available, one) * most);
}

}  // namespace

Tensor maskable(const MaskingRule& rule, Tensor input_ids, Tensor input_mask) {
  const Tensor position = iota(input_ids.graph(), input_ids.shape(), 1);
  Tensor out = input_mask * minimum(position, ones_like(position));
  for (const std::int32_t id : rule.kept_ids)
    out = out * as_s32(compare(input_ids, full_like(input_ids, id), Compare::ne));
  return out;
}

Masks draw_masks(const Scope& s, const MaskingRule& rule, Tensor input_ids, Tensor input_mask) {
  const auto B = input_ids.dim(0), S = input_ids.dim(1), N = rule.most;
  const Tensor allowed = maskable(rule, input_ids, input_mask);
  const Tensor count = count_masks(s, rule, allowed, input_mask);
  const Tensor number = iota(input_ids.graph(), {DType::s32, {B, N}}, 1);
  const Tensor used = as_s32(compare(number, broadcast_to(count, {B, N}), Compare::lt));
  const Tensor positions = draw_positions(s / "positions", rule, allowed) * used;
  const Tensor tokens = places(positions, S) * reshape(input_ids, {B, 1, S});
  return {
      .positions = positions, .ids = reduce_sum(tokens, {2}), .weights = convert(used, DType::f32)};
}

Tensor put_masks(const Scope& s, const MaskingRule& rule, Tensor input_ids, const Masks& masks) {
  const Tensor u = uniform(s / "shown", masks.positions.dims());
  const Tensor masked = as_s32(compare(u, full_like(u, kMaskedShare), Compare::lt));
  return replace_tokens(input_ids, masks.positions * masked,
                        full_like(masks.positions, rule.mask_id))
      .ids;
}

Replaced replace_tokens(Tensor ids, Tensor positions, Tensor tokens) {
  const auto B = ids.dim(0), S = ids.dim(1), N = positions.dim(1);
  // Integer sums are used because a matmul would round ids to bf16 on a TPU.
  const Tensor at = places(positions, S);
  const Tensor sum = reduce_sum(at * reshape(tokens, {B, N, 1}), {1});
  const Tensor hits = reduce_sum(at, {1}), one = ones_like(hits);
  const Tensor where = minimum(hits, one);
  return {.ids = ids * (one - where) + sum / maximum(hits, one), .where = where};
}

Tensor sample_ids(const Scope& s, Tensor logits) {
  const Tensor u = uniform(s / "samples", logits.dims());
  const Tensor noise = -log(kNoiseEpsilon - log(u + kNoiseEpsilon));
  return argmax(stop_gradient(logits) + noise, -1);
}

}  // namespace smelt::model
