// Fills [MASK] in texts with a trained model's most probable words.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/storage/slices.h"
#include "model/tasks/task.h"
#include "model/train_step/sharding_plan.h"
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

struct FillMaskJob {
  // The model's guesses for sequences of S tokens with P masks: features input_ids, input_mask,
  // segment_ids and masked_lm_positions (model/tasks/bert_task.h).
  std::function<Prediction(std::int64_t S, std::int64_t P, std::int64_t top)> guesses;
  Json model;                     // the settings that the checkpoint's model must have; null: any
  std::int64_t max_tokens = 512;  // the model's positions
  std::int64_t vocab_size = 0;    // the model's
  bool framed = true;             // [CLS] before a text and [SEP] after it
  std::string device = "cpu";
  bool exact_products = false;  // HloForm::exact_products
  bool averaged = true;         // as load_trained_model has it
  std::string model_dir;        // its newest checkpoint is used
  std::string vocab;            // the tokenizer's, which must be the model's; empty: not compared
  std::int64_t top = 5;
};

// Texts that are filled by one state of a model after another.
class MaskFiller {
 public:
  // Takes a job and a tokenizer as open_filler() does, but reads none of the job's files. The
  // tokenizer must outlive it. The model lies on one device, or over the placement's mesh (as
  // predict_program takes it).
  MaskFiller(std::shared_ptr<const Client> client, const FillMaskJob& job,
             const BertTokenizer& tokenizer, std::vector<std::string> texts,
             const ShardingPlan& placement = {});
  ~MaskFiller();
  // Fills by the values of a state; `where` begins the message where one is missing.
  std::vector<FilledText> fill(const SlicedTensors& tensors, const std::string& where) const;

 private:
  struct Asked;
  std::unique_ptr<const Asked> asked_;
};

// Fills the masks of one batch of texts after another with the same model.
using Filler = std::function<std::vector<FilledText>(const std::vector<std::string>& texts)>;

// Returns a Filler for the newest checkpoint of job.model_dir, which is read with the first batch
// and stays in memory and on the device. It throws UsageError for a text without [MASK], one longer
// than the model's positions, a `top` that is not in 1 … the vocabulary's size, or no checkpoint.
// Ids beyond the vocabulary are never guessed.
Filler open_filler(const FillMaskJob& job, const BertTokenizer& tokenizer);
// Returns a Filler for weights in memory; `where` begins the message about a missing one.
Filler open_filler(const FillMaskJob& job, const BertTokenizer& tokenizer,
                   std::shared_ptr<const SlicedTensors> tensors, std::string where);

}  // namespace smelt
