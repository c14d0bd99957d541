// Mask filling: the most probable tokens for each [MASK] of a text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "execution/inference/row_model.h"
#include "execution/inference/text_sampler.h"
#include "pjrt/client.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::execution {

struct MaskGuess {
  std::string token;
  float probability;
};

struct FilledText {
  std::string text;
  std::vector<std::vector<MaskGuess>> masks;  // one list per [MASK], best first
};

// A masked language model's prediction functions and its limits.
struct FillMaskJob {
  // Returns the prediction of the `top` best tokens for sequences of S tokens with P masks, from
  // the features input_ids, input_mask, segment_ids and masked_lm_positions
  // (model/tasks/bert_task.h).
  std::function<model::Prediction(std::int64_t S, std::int64_t P, std::int64_t top)> guesses;
  // Returns the prediction of the log-probabilities of masked_lm_ids at P masks (word_scores()).
  // Unset if the model cannot compute them.
  std::function<model::Prediction(std::int64_t S, std::int64_t P)> scores = {};
  std::int64_t max_tokens = 512;  // number of positions of the model
  std::int64_t vocab_size = 0;    // vocabulary size of the model
  bool framed = true;             // add [CLS] before and [SEP] after a text
  bool exact_products = false;    // HloForm::exact_products
  std::int64_t top = 5;           // number of guesses for each mask
};

// A loaded masked language model.
class MaskFiller {
 public:
  // Places the model on one device, or on the placement's mesh. Throws UsageError if job.top is not
  // between 1 and the vocabulary size.
  MaskFiller(std::shared_ptr<const pjrt::Client> client, FillMaskJob job,
             text::BertTokenizer tokenizer, HostWeights weights = {},
             const model::ShardingPlan& placement = {});

  // Tokenizes the texts and warns about unknown tokens. Throws UsageError for a text without [MASK]
  // or with more tokens than the model has positions.
  std::vector<TokenRow> encode(const std::vector<std::string>& texts) const;
  // Fills the masks of encoded texts. Skips predicted ids for which the vocabulary has no token.
  std::vector<FilledText> fill(const std::vector<std::string>& texts,
                               const std::vector<TokenRow>& rows);
  std::vector<FilledText> fill(const std::vector<std::string>& texts) {
    return fill(texts, encode(texts));
  }
  RowModel& model() { return model_; }

 private:
  FillMaskJob job_;
  text::BertTokenizer tokenizer_;
  // Guesses per mask in the program; more than job_.top, since some ids have no token.
  std::int64_t guesses_per_mask_;
  RowModel model_;
};

// Fills the masks of sample texts at each evaluation of a training run.
class MaskSampler : public TextSampler {
 public:
  // Compiles the program. Throws UsageError in the same cases as MaskFiller.
  MaskSampler(std::shared_ptr<const pjrt::Client> client, const FillMaskJob& job,
              const text::BertTokenizer& tokenizer, std::vector<std::string> texts,
              const model::ShardingPlan& placement = {});

  std::string kind() const override { return "filled"; }
  std::vector<TextSample> sample(const checkpoint::SlicedTensors& tensors,
                                 const std::string& where) const override;

 private:
  std::unique_ptr<MaskFiller> filler_;
  std::vector<std::string> texts_;
  std::vector<TokenRow> rows_;
};

}  // namespace smelt::execution
