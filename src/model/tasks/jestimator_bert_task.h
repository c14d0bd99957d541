// Pre-training of JEstimator's BERT as a task (google-research/jestimator models/*/pretrain.py):
// tokens masked anew in every step, each by itself with one probability, always by the mask token.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "model/models/jestimator_bert.h"
#include "model/tasks/task.h"

namespace smelt {

// Fields and defaults of the original's configuration beside the model's.
struct JestimatorSettings {
  std::int64_t mask_token_id = -1;  // required
  double mask_rate = 0.15;
};

template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, JestimatorSettings>
void visit_fields(Config& c, Visitor&& visit) {
  visit("mask_token_id", c.mask_token_id,
        "what masked tokens become; -1 = the vocabulary's [MASK]");
  visit("mask_rate", c.mask_rate, "probability of a token to be masked, drawn anew in each step");
}

struct JestimatorBertTask {
  JestimatorBertConfig model = {};
  JestimatorSettings settings = {};
};

// A task of records of `targets`: max_length tokens. Loss masked_lm_loss, a sum over the square
// root of how many tokens are masked, reported as their mean. In evaluation also mrr, the mean of 1
// / rank of the masked word, ties at the end, and masked_lm_accuracy (rank 1). UsageError for
// settings that do not fit each other.
Task jestimator_bert_task(const JestimatorBertTask& config);

// The objective without its draws: targets s32 [B,S], `masked` pred [B,S].
Objective jestimator_objective(const Scope& root, const JestimatorBertTask& config, Tensor targets,
                               Tensor masked);

// targets: max_length tokens -> of each example f32 [B], over masks drawn `draws` times: the mean
// sum of its masked tokens' losses, of 1 / their ranks, and their mean number.
Prediction jestimator_scores(const JestimatorBertTask& config, std::int64_t draws);

// input_ids, input_mask, segment_ids [S], masked_lm_positions [P] -> the `top` best guesses at each
// position: probabilities f32 [B*P, top], ids s32 [B*P, top].
Prediction jestimator_mask_guesses(const JestimatorBertConfig& model, std::int64_t S,
                                   std::int64_t P, std::int64_t top);

}  // namespace smelt
