// Pretraining of JEstimator's BERT as a task (google-research/jestimator models/*/pretrain.py). In
// each step every token is masked independently with a fixed probability, always by the mask token.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "model/models/jestimator_bert.h"
#include "model/tasks/task.h"

namespace smelt::model {

// Fields and defaults of the original's configuration, apart from the model's.
struct JestimatorSettings {
  std::int64_t mask_token_id = -1;  // required
  double mask_rate = 0.15;
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, JestimatorSettings>
void visit_fields(Config& c, Visitor&& visit) {
  visit("mask_token_id", c.mask_token_id, "id of the mask token; -1 = the vocabulary's [MASK]");
  visit("mask_rate", c.mask_rate, "probability that a token is masked, drawn in each step");
}

// Settings of JEstimator's pretraining.
struct JestimatorBertTask {
  JestimatorBertConfig model = {};
  JestimatorSettings settings = {};
};

// Returns the task. Examples have the feature `targets` with max_length tokens. The loss
// masked_lm_loss is the sum over masked tokens divided by the square root of their number; the
// reported value is the mean over masked tokens. Evaluation adds mrr, the mean of 1 / rank of the
// masked word (ties rank last), and masked_lm_accuracy (rank 1). Throws UsageError for
// contradicting settings.
Task jestimator_bert_task(const JestimatorBertTask& config);

// Returns the losses and metrics for given masks. `targets` s32 [B,S] are the original ids;
// `masked` pred [B,S] is true for masked tokens.
Objective jestimator_objective(const Scope& root, const JestimatorBertTask& config,
                               compiler::Tensor targets, compiler::Tensor masked);

// Returns the prediction of each example's metrics, averaged over `draws` random masks. Input:
// targets [max_length]. Outputs, f32 [B] each: the sum of the losses of the masked tokens, the sum
// of 1 / (rank of the correct token among the predictions), and the number of masked tokens.
Prediction jestimator_scores(const JestimatorBertTask& config, std::int64_t draws);

// Predicts masked tokens. Inputs: input_ids, input_mask, segment_ids [S] and masked_lm_positions
// [P]. Outputs: the `top` best words at each position, as probabilities f32 [B*P, top] and ids s32
// [B*P, top].
Prediction jestimator_mask_guesses(const JestimatorBertConfig& model, std::int64_t S,
                                   std::int64_t P, std::int64_t top);

}  // namespace smelt::model
