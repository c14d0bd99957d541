// Evaluation of a pre-trained model on examples that it has not seen, against the simplest guess.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/pretraining.h"

namespace smelt {

struct EvaluateJob {
  PretrainingConfig config;  // batch, devices and model are used
  std::string device = "cpu";
  std::string data;        // held-out TFRecord files or patterns
  std::string train_data;  // where the majority token is counted; empty: in `data`
  std::string model_dir;   // its newest checkpoint is evaluated
  std::int64_t steps = 0;  // batches; 0 = all whole batches of `data`
};

// The original's figures (run_pretraining.py): accuracies and losses over all predictions of all
// batches, `loss` the mean of the batches' losses.
struct Evaluation {
  std::int64_t global_step = 0;
  double loss = 0;
  double masked_lm_accuracy = 0, masked_lm_loss = 0;
  struct NextSentence {
    double accuracy = 0, loss = 0;
  };
  std::optional<NextSentence> next_sentence;  // unless the model is trained without that task
  // Always answering the token that is masked most often in the training data.
  double majority_token_accuracy = 0;
  std::int32_t majority_token = 0;
  std::int64_t examples = 0, masked_tokens = 0;
};

// UsageError when there is no checkpoint, or fewer examples than one batch.
Evaluation evaluate(const EvaluateJob& job);

}  // namespace smelt
