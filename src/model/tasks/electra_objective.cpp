// The losses of ELECTRA and Electric, given masks and samples.
//   B batch   S sequence   N maximum masked tokens   V vocabulary
#include <cmath>

#include "compiler/ops/ops.h"
#include "model/models/electra.h"
#include "model/nn/layers.h"
#include "model/tasks/electra_task.h"
#include "model/tasks/metrics.h"

namespace smelt::model {

using compiler::argmax;
using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::constant;
using compiler::convert;
using compiler::DType;
using compiler::full_like;
using compiler::KeepDims;
using compiler::logistic;
using compiler::reduce_max;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::stop_gradient;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

Tensor flat(Tensor x) { return reshape(x, {x.shape().elements()}); }
Tensor total(Tensor x) { return reduce_sum(flat(x), {0}); }

// Applies Electric's generator, which predicts each token from the tokens before and after it.
Generated cloze(const Scope& root, const ElectraTask& c, const MaskedInputs& in) {
  const ElectraEncoded towers = electra_two_towers(root, c.model, in.inputs);
  const auto B = towers.sequence.dim(0), S = towers.sequence.dim(1);
  const Tensor rows = reshape(towers.sequence, {B * S, towers.sequence.dim(2)});
  const LmHead head = electra_word_head(root / "cloze_predictions", c.model, rows, towers.words);
  // Gather the rows, not the scores: gather_positions() is a matmul, which rounds its operands. The
  // rows are operands of a later matmul, so rounding does not change the scores.
  const auto E = head.rows.dim(1);
  const Tensor picked = gather_positions(reshape(head.rows, {B, S, E}), in.masks.positions);
  const LmHead of_masked{
      .rows = reshape(picked, {B * picked.dim(1), E}), .words = head.words, .bias = head.bias};
  return {.logits = lm_logits(of_masked), .all = head};
}

void add_masked_lm(const Scope& root, const ElectraTask& c, const MaskedInputs& in,
                   const Generated& generated, Objective& out) {
  const Tensor ids = flat(in.masks.ids), weights = flat(in.masks.weights);
  const Tensor weight = total(weights);
  const Metric masked{.name = "masked_lm_loss",
                      .sum = total(cross_entropy(generated.logits, ids) * weights),
                      .weight = weight,
                      .norm = Norm::mean_tiny_epsilon,
                      .factor = c.settings.gen_weight};
  if (generated.all.rows) {
    const EncoderInputs& tokens = in.inputs;
    const Tensor counted =
        flat(convert(maskable(c.masking(), tokens.input_ids, tokens.input_mask), DType::f32));
    out.losses.push_back(
        {.name = "cloze_loss",
         .sum = total(score_labels(root, generated.all, flat(tokens.input_ids)).loss * counted),
         .weight = total(counted),
         .norm = Norm::mean_tiny_epsilon,
         .factor = c.settings.gen_weight});
    out.metrics.push_back(masked);
  } else {
    out.losses.push_back(masked);
  }
  out.metrics.push_back({.name = "masked_lm_accuracy",
                         .sum = count_hits(argmax(generated.logits, -1), ids, weights),
                         .weight = weight});
  if (c.majority_token)
    out.metrics.push_back({.name = "majority_token_accuracy",
                           .sum = count_hits(full_like(ids, *c.majority_token), ids, weights),
                           .weight = weight});
}

// The discriminator's outputs, labels and weights per token.
struct DiscriminatorRows {
  Tensor logits;       // f32 [B*S], positive: replaced
  Tensor labels;       // f32 [B*S]: 1 if replaced
  Tensor weights;      // f32 [B*S]: 1 for tokens
  Tensor of_examples;  // f32 [B*S], in evaluation: 0 in padding examples
};

// Returns f32 [B*S]: 0 for all tokens of padding examples, which have an empty mask.
Tensor tokens_of_examples(Tensor input_mask) {
  const Tensor any = reduce_max(input_mask, {1}, KeepDims::yes);
  return flat(convert(broadcast_to(any, input_mask.dims()), DType::f32));
}

void add_discriminator(const Scope& root, const ElectraTask& c, const DiscriminatorRows& g,
                       Objective& out) {
  const Tensor weight = total(g.weights);
  const Tensor x = g.logits, zero = zeros_like(x);
  out.losses.push_back({.name = "disc_loss",
                        .sum = total(sigmoid_cross_entropy(x, g.labels) * g.weights),
                        .weight = weight,
                        .norm = Norm::mean_tiny_epsilon,
                        .factor = c.settings.disc_weight});
  const Tensor predicted = convert(compare(x, zero, Compare::gt), DType::f32);
  const Tensor hits = total(predicted * g.labels * g.weights);
  out.metrics.push_back({.name = "disc_accuracy",
                         .sum = count_hits(predicted, g.labels, g.weights),
                         .weight = weight});
  out.metrics.push_back(share_of("disc_precision", hits, total(predicted * g.weights), weight));
  out.metrics.push_back(share_of("disc_recall", hits, total(g.labels * g.weights), weight));
  out.metrics.push_back({.name = "always_original_accuracy",
                         .sum = count_hits(zero, g.labels, g.weights),
                         .weight = weight});
  if (root.training()) return;
  // In the original, disc_auc counts padding tokens as original tokens with probability 0, but does
  // not count padding examples.
  const bool padding = c.masking().draws == MaskDraws::original;
  const Tensor probability = logistic(x) * g.weights;
  out.metrics.push_back(
      roc_auc("disc_auc", probability, g.labels, padding ? g.of_examples : g.weights));
}

}  // namespace

Generated electra_generated(const Scope& root, const ElectraTask& c, const MaskedInputs& in) {
  const auto B = in.masks.ids.dim(0), N = in.masks.ids.dim(1), V = c.model.vocab_size;
  Generated out;
  if (c.settings.uniform_generator) {
    out.logits = constant(root.graph(), 0, DType::f32, {B * N, V});
    out.shared = Shared::nothing;
    return out;
  }
  const bool full = !c.has_discriminator() || !c.model.untied_generator;
  const bool own = !full && c.model.untied_generator_embeddings;
  const Shared shared = full ? Shared::all : own ? Shared::nothing : Shared::embeddings;
  if (c.has_two_towers()) {
    out = cloze(root, c, in);
  } else {
    EncoderInputs masked = in.inputs;
    masked.input_ids = in.masked_ids;
    const ElectraEncoded encoded =
        full ? electra(root, c.model, masked) : electra_generator(root, c.model, masked);
    const Tensor picked = gather_positions(encoded.sequence, in.masks.positions);
    out.logits =
        lm_logits(electra_word_head(root / "generator_predictions", c.model,
                                    reshape(picked, {B * N, picked.dim(2)}), encoded.words));
  }
  out.shared = shared;
  return out;
}

Tensor electra_found_logits(const Scope& root, const ElectraTask& c, const EncoderInputs& tokens,
                            const Generated& generated) {
  const ElectraEncoded encoded = electra(root, c.model, tokens, generated.shared);
  const Tensor logits = flat(electra_replaced_logits(root, c.model, encoded.sequence));
  if (!c.settings.electric_objective) return logits;
  const double p = c.settings.mask_prob;
  const Tensor log_q = -score_labels(root, generated.all, flat(tokens.input_ids)).loss;
  return logits + stop_gradient(log_q) + std::log(p / (1 - p));
}

Objective electra_objective(const Scope& root, const ElectraTask& c, const MaskedInputs& in,
                            const Sampler& sample) {
  const ReplacementModels models{
      .generated = [&c](const Scope& s,
                        const MaskedInputs& masked) { return electra_generated(s, c, masked); },
      .found =
          [&c](const Scope& s, const EncoderInputs& tokens, const Generated& generated) {
            return electra_found_logits(s, c, tokens, generated);
          }};
  return replacement_objective(root, c, models, in, sample);
}

Objective replacement_objective(const Scope& root, const ElectraTask& c,
                                const ReplacementModels& models, const MaskedInputs& in,
                                const Sampler& sample) {
  const auto B = in.masks.ids.dim(0), N = in.masks.ids.dim(1), V = c.model.vocab_size;
  const Generated generated = models.generated(root, in);
  Objective out;
  add_masked_lm(root, c, in, generated, out);
  if (!c.has_discriminator()) return out;

  Tensor logits = stop_gradient(reshape(generated.logits, {B, N, V})) / c.settings.temperature;
  if (c.settings.disallow_correct) logits = logits - 1000.0 * one_hot(in.masks.ids, V, DType::f32);
  const Tensor sampled = sample(logits).expect({B, N});
  out.metrics.push_back(
      {.name = "sampled_masked_lm_accuracy",
       .sum = count_hits(flat(sampled), flat(in.masks.ids), flat(in.masks.weights)),
       .weight = total(in.masks.weights)});

  EncoderInputs fake = in.inputs;
  const Replaced replaced = replace_tokens(fake.input_ids, in.masks.positions, sampled);
  fake.input_ids = replaced.ids;
  DiscriminatorRows rows{
      .logits = models.found(root, fake, generated),
      .labels = flat(convert(replaced.where, DType::f32)),
      .weights = flat(convert(fake.input_mask, DType::f32)),
      .of_examples = root.training() ? Tensor() : tokens_of_examples(fake.input_mask),
  };
  if (!c.settings.electric_objective) {
    const Tensor other = compare(fake.input_ids, in.inputs.input_ids, Compare::ne);
    rows.labels = rows.labels * flat(convert(other, DType::f32));
  }
  add_discriminator(root, c, rows, out);
  return out;
}

}  // namespace smelt::model
