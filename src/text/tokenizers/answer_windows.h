// Splits a question and a text into overlapping windows [CLS] question [SEP] part of the text [SEP]
// for an encoder of the BERT family, as convert_examples_to_features in google-research/bert
// run_squad.py does.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizers/text_pair.h"

namespace smelt::text {

struct WindowRules {
  std::int64_t question_tokens = 64;  // maximum tokens of a question
  std::int64_t stride = 128;          // distance between the beginnings of two windows, in tokens
};

struct AnswerWindow {
  // `ids.words` has the position of [CLS], which stands for "no answer", followed by the position
  // of each piece of the text.
  TextPairIds ids;
  std::size_t first = 0;  // index in the whole text of the window's first piece
  // For each piece of the text in the window: whether this is the first window with the most
  // context around the piece. Context is the smaller of the numbers of pieces before and after the
  // piece, plus a hundredth of the window's number of pieces.
  std::vector<bool> is_best;
};

struct AnswerWindows {
  std::vector<TokenSpan> pieces;  // pieces of the whole text, with byte offsets
  std::vector<AnswerWindow> windows;
  std::size_t cut = 0;  // number of pieces truncated from the question
};

class AnswerWindowEncoder {
 public:
  // Windows have at most `most_tokens` tokens. Throws UsageError if the vocabulary lacks [CLS] or
  // [SEP], or if the question can leave no room for text. The tokenizer must outlive this object.
  AnswerWindowEncoder(const BertTokenizer& tokenizer, std::int64_t most_tokens,
                      const WindowRules& rules);

  // Returns at least one window, or none if the text has no piece.
  AnswerWindows encode(std::string_view question, std::string_view text) const;

 private:
  const BertTokenizer& tokenizer_;
  std::size_t most_tokens_, question_tokens_, stride_;
  std::int32_t cls_, sep_;
};

}  // namespace smelt::text
