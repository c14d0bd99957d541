// Finds the tokens of texts that a trained discriminator holds for replaced.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/storage/slices.h"
#include "model/tasks/task.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt {

struct JudgedToken {
  TokenSpan span;           // its bytes in the text
  float probability = 0.0;  // that it was replaced
};

struct DetectJob {
  // The model's probabilities for sequences of S tokens: features input_ids, input_mask and
  // segment_ids (model/tasks/electra_task.h).
  std::function<Prediction(std::int64_t S)> replaced;
  Json model;                     // the settings that the checkpoint's model must have; null: any
  std::int64_t max_tokens = 512;  // the model's positions
  std::string device = "cpu";
  bool exact_products = false;  // HloForm::exact_products
  bool averaged = true;         // as load_trained_model has it
  std::string model_dir;        // its newest checkpoint is used
  std::string vocab;            // the tokenizer's, which must be the model's; empty: not compared
};

// Judges one batch of texts after another with the same model. Returns the tokens of each text,
// without [CLS] and [SEP].
using Detector =
    std::function<std::vector<std::vector<JudgedToken>>(const std::vector<std::string>& texts)>;

// Returns a Detector for the newest checkpoint of job.model_dir, which is read with the first batch
// and stays in memory. It throws UsageError for a text without tokens, one longer than the model's
// positions, or no checkpoint.
Detector open_detector(const DetectJob& job, const BertTokenizer& tokenizer);
// Returns a Detector for weights in memory; `where` begins the message about a missing one.
Detector open_detector(const DetectJob& job, const BertTokenizer& tokenizer,
                       std::shared_ptr<const SlicedTensors> tensors, std::string where);

}  // namespace smelt
