// Detects replaced tokens with a trained ELECTRA discriminator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "execution/inference/row_model.h"
#include "pjrt/client.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::execution {

struct JudgedToken {
  text::TokenSpan span;     // token id and byte range in the text
  float probability = 0.0;  // probability that the token was replaced
};

// A discriminator's prediction function and its limits.
struct DetectJob {
  // Returns the prediction for sequences of S tokens: the probability of each token, from the
  // features input_ids, input_mask and segment_ids (model/tasks/electra_task.h).
  std::function<model::Prediction(std::int64_t S)> replaced;
  std::int64_t max_tokens = 512;  // number of positions of the model
  bool exact_products = false;    // HloForm::exact_products
};

// A loaded discriminator.
class Detector {
 public:
  Detector(std::shared_ptr<const pjrt::Client> client, const DetectJob& job,
           text::BertTokenizer tokenizer, HostWeights weights);
  // Returns the tokens of each text with their probabilities, without [CLS] and [SEP]. Throws
  // UsageError for a text without tokens or with more tokens than the model has positions.
  std::vector<std::vector<JudgedToken>> detect(const std::vector<std::string>& texts);

 private:
  std::int64_t max_tokens_;
  text::BertTokenizer tokenizer_;
  RowModel model_;
};

}  // namespace smelt::execution
