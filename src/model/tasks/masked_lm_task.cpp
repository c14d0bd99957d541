#include "model/tasks/masked_lm_task.h"

#include <algorithm>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "model/nn/random.h"
#include "model/tasks/metrics.h"
#include "model/tasks/token_features.h"

namespace smelt::model {

using compiler::Compare;
using compiler::compare;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::select;
using compiler::Tensor;
namespace {

constexpr double kShownAsMask = 0.8, kReplaced = 0.9;  // below 0.8: [MASK]; below 0.9: random

// Returns the ids [B,S] with 80 % of the masked positions as the mask token and 10 % as random
// tokens.
Tensor hide_masked(const Scope& draws, const MaskedLmTask& c, Tensor ids, const Masks& masks) {
  const Dims& dims = masks.positions.dims();
  const Tensor u = uniform(draws / "shown", dims);
  const auto below = [&](double share) { return compare(u, full_like(u, share), Compare::lt); };
  const auto words = static_cast<double>(encoder_sizes(c.encoder).vocab_size);
  const Tensor random = convert(uniform(draws / "words", dims) * words, DType::s32);
  const Tensor tokens = select(below(kShownAsMask), full_like(random, c.mask), random);
  return replace_tokens(ids, masks.positions * convert(below(kReplaced), DType::s32), tokens).ids;
}

Objective objective(const MaskedLmTask& c, const Scope& root, const Inputs& inputs) {
  const Scope draws = root / "masking";
  EncoderInputs in = encoder_inputs(inputs);
  const Masks masks = draw_masks(draws, c.masking(), in.input_ids, in.input_mask);
  in.input_ids = hide_masked(draws, c, in.input_ids, masks);
  return masked_lm_objective(root, c, in, masks);
}

}  // namespace

MaskingRule MaskedLmTask::masking() const {
  const double highest = std::max(mask_prob, last_mask_prob);
  MaskingRule rule{
      .probability = mask_prob,
      .steps = steps,
      .most = static_cast<std::int64_t>((highest + 0.005) * static_cast<double>(seq_length)),
      .mask_id = mask,
      .kept_ids = {cls, sep, mask}};
  if (last_mask_prob > 0) rule.last_probability = last_mask_prob;
  return rule;
}

Objective masked_lm_objective(const Scope& root, const MaskedLmTask& c, const EncoderInputs& in,
                              const Masks& masks) {
  const LmHead head = c.encoder->word_head(root, c.encoder->sequence(root, in), masks.positions);
  const auto rows = head.rows.dim(0);
  const Tensor ids = reshape(masks.ids, {rows}), weights = reshape(masks.weights, {rows});
  const LabelScores found = score_labels(root, head, ids);
  const Tensor weight = reduce_sum(weights, {0});
  Objective out;
  out.losses.push_back({.name = "masked_lm_loss",
                        .sum = reduce_sum(found.loss * weights, {0}),
                        .weight = weight,
                        .norm = Norm::mean_tiny_epsilon});
  out.metrics.push_back({.name = "masked_lm_accuracy",
                         .sum = count_hits(found.best, ids, weights),
                         .weight = weight});
  if (c.majority_token)
    out.metrics.push_back({.name = "majority_token_accuracy",
                           .sum = count_hits(full_like(ids, *c.majority_token), ids, weights),
                           .weight = weight});
  return out;
}

Task masked_lm_task(const MaskedLmTask& c) {
  const BertConfig sizes = encoder_sizes(c.encoder);
  Task task;
  task.name = encoder_name(c.encoder);
  check_positions(task.name, sizes, c.seq_length);
  if (!(c.last_mask_prob >= 0 && c.last_mask_prob < 1))
    throw UsageError(str(task.name, ": last_mask_prob is ", c.last_mask_prob,
                         ", must be above 0 and below 1, or 0 for a constant mask_prob"),
                     "0.15 is usual with mask_prob 0.3");
  if (!(c.mask_prob > 0 && c.mask_prob < 1) || c.masking().most < 1)
    throw UsageError(str(task.name, ": mask_prob ", c.mask_prob, " of ", c.seq_length,
                         " tokens masks ", c.masking().most, " of them, must be at least 1"),
                     "0.15 is usual");
  task.settings = {{"model", encoder_config_json(c.encoder)},
                   {"mask_prob", c.mask_prob},
                   {"seq_length", c.seq_length},
                   {"special_ids", {c.cls, c.sep, c.mask}}};
  if (c.last_mask_prob > 0) task.settings["last_mask_prob"] = c.last_mask_prob;
  task.described = {{"seq_length", c.seq_length}};
  task.record_kind = "electra";  // unmasked texts; BERT's examples are masked already
  task.foreign = {{.name = "masked_lm_positions", .kind = "bert"}};
  task.features = token_features(sizes, c.seq_length);
  task.tokens = "input_mask";
  task.can_be_packed = true;
  task.draws = true;
  task.dim_names = [encoder = c.encoder](std::string_view parameter) {
    return classifier_dim_names(encoder, parameter);
  };
  task.objective = [c](const Scope& root, const Inputs& in) { return objective(c, root, in); };
  return task;
}

}  // namespace smelt::model
