// Fills [MASK] in texts with a trained model's most probable words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/bert_config.h"
#include "tokenize/wordpiece.h"

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
  BertConfig model;
  std::string device = "cpu";
  std::string model_dir;  // its newest checkpoint is used
  std::int64_t top = 5;
};

// UsageError for a text without [MASK], one longer than the model's positions, or no checkpoint.
std::vector<FilledText> fill_masks(const FillMaskJob& job, const BertTokenizer& tokenizer,
                                   const std::vector<std::string>& texts);

}  // namespace smelt
