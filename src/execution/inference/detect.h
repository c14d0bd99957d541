// Finds the tokens of texts that a trained discriminator holds for replaced.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "execution/inference/row_model.h"
#include "pjrt/client.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt {

struct JudgedToken {
  TokenSpan span;           // its bytes in the text
  float probability = 0.0;  // that it was replaced
};

// What a model that finds replaced tokens computes, and its sizes.
struct DetectJob {
  // The model's probabilities for sequences of S tokens: features input_ids, input_mask and
  // segment_ids (model/tasks/electra_task.h).
  std::function<Prediction(std::int64_t S)> replaced;
  std::int64_t max_tokens = 512;  // the model's positions
  bool exact_products = false;    // HloForm::exact_products
};

// A model that judges one batch of texts after another.
class Detector {
 public:
  Detector(std::shared_ptr<const Client> client, const DetectJob& job, BertTokenizer tokenizer,
           HostWeights weights);
  // Returns the tokens of each text, without [CLS] and [SEP]. Throws UsageError for a text without
  // tokens, or one longer than the model's positions.
  std::vector<std::vector<JudgedToken>> detect(const std::vector<std::string>& texts);

 private:
  std::int64_t max_tokens_;
  BertTokenizer tokenizer_;
  RowModel model_;
};

}  // namespace smelt
