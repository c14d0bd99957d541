// Reference values of four tiny ModernBERTs (tools/golden_modernbert.py).
#pragma once

#include "runs/golden_encoder.h"

namespace smelt {

class GoldenModernbert : public GoldenEncoder {
 public:
  static constexpr std::int64_t kLength = 10, kVocab = 29;

  explicit GoldenModernbert(std::string kind)
      : GoldenEncoder("modernbert", std::move(kind), kLength, kVocab, tokenizer_text()) {}

  // Returns the tokenizer.json of a byte-level BPE with ModernBERT's special tokens, kVocab tokens
  // and one merge, "ab".
  static std::string tokenizer_text();
};

}  // namespace smelt
