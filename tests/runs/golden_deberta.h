// Reference values of four tiny DeBERTas (tools/golden_deberta.py).
#pragma once

#include "runs/golden_encoder.h"

namespace smelt {

class GoldenDeberta : public GoldenEncoder {
 public:
  static constexpr std::int64_t kLength = 14, kVocab = 29;

  explicit GoldenDeberta(std::string kind)
      : GoldenEncoder("deberta", std::move(kind), kLength, kVocab, tokenizer_text()) {}

  // Returns the tokenizer.json of a Unigram vocabulary of kVocab tokens, with DeBERTa's special
  // tokens and its [MASK] after the pieces.
  static std::string tokenizer_text();
};

}  // namespace smelt
