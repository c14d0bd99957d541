// Fills [MASK] in texts with a trained model's most probable words.
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

namespace smelt {

struct MaskGuess {
  std::string token;
  float probability;
};

struct FilledText {
  std::string text;
  std::vector<std::vector<MaskGuess>> masks;  // one list per [MASK], best first
};

// What a model that fills masks computes, and its sizes.
struct FillMaskJob {
  // The model's guesses for sequences of S tokens with P masks: features input_ids, input_mask,
  // segment_ids and masked_lm_positions (model/tasks/bert_task.h).
  std::function<Prediction(std::int64_t S, std::int64_t P, std::int64_t top)> guesses;
  // The log-probabilities of masked_lm_ids at P masks (word_scores()); unset: it gives none.
  std::function<Prediction(std::int64_t S, std::int64_t P)> scores = {};
  std::int64_t max_tokens = 512;  // the model's positions
  std::int64_t vocab_size = 0;    // the model's
  bool framed = true;             // [CLS] before a text and [SEP] after it
  bool exact_products = false;    // HloForm::exact_products
  std::int64_t top = 5;           // guesses for each mask
};

// A model that fills the masks of one batch of texts after another.
class MaskFiller {
 public:
  // The model is on one device, or over the placement's mesh. Throws UsageError if job.top is not
  // in 1 … the vocabulary's size.
  MaskFiller(std::shared_ptr<const Client> client, FillMaskJob job, BertTokenizer tokenizer,
             HostWeights weights = {}, const ShardingPlan& placement = {});

  // Warns of texts that the vocabulary does not know. Throws UsageError for a text without [MASK]
  // or longer than the model's positions.
  std::vector<TokenRow> encode(const std::vector<std::string>& texts) const;
  // Fills encoded texts. Ids beyond the vocabulary are never guessed.
  std::vector<FilledText> fill(const std::vector<std::string>& texts,
                               const std::vector<TokenRow>& rows);
  std::vector<FilledText> fill(const std::vector<std::string>& texts) {
    return fill(texts, encode(texts));
  }
  RowModel& model() { return model_; }

 private:
  FillMaskJob job_;
  BertTokenizer tokenizer_;
  std::int64_t asked_;  // guesses of the program, of which some are ids without a word
  RowModel model_;
};

// Fills a run's texts by its weights at an evaluation.
class MaskSampler : public TextSampler {
 public:
  // Compiles the program. Throws UsageError as MaskFiller does.
  MaskSampler(std::shared_ptr<const Client> client, const FillMaskJob& job,
              const BertTokenizer& tokenizer, std::vector<std::string> texts,
              const ShardingPlan& placement = {});

  std::string kind() const override { return "filled"; }
  std::vector<TextSample> sample(const SlicedTensors& tensors,
                                 const std::string& where) const override;

 private:
  std::unique_ptr<MaskFiller> filler_;
  std::vector<std::string> texts_;
  std::vector<TokenRow> rows_;
};

}  // namespace smelt
