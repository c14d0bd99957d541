// A question and a text that answers it, as an encoder of BERT's family reads them: windows
// [CLS] question [SEP] part of the text [SEP] that overlap where the text is too long for one, as
// google-research/bert run_squad.py, convert_examples_to_features, cuts them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizers/text_pair.h"

namespace smelt {

struct WindowRules {
  std::int64_t question_tokens = 64;  // that are kept of a question
  std::int64_t stride = 128;          // tokens of the text from one window's first to the next's
};

struct AnswerWindow {
  // Its words: [CLS], which stands for no answer, and each piece of the text.
  TextPairIds ids;
  std::size_t first = 0;  // piece of the whole text that comes first in it
  // Of its pieces of the text: whether no other window has more text around this one (the smaller
  // of both sides, and a hundredth of the window's pieces).
  std::vector<bool> is_best;
};

struct AnswerWindows {
  std::vector<TokenSpan> pieces;  // of the whole text, in its bytes
  std::vector<AnswerWindow> windows;
  std::size_t cut = 0;  // pieces of the question that were left out
};

class AnswerWindowEncoder {
 public:
  // Windows of at most `most_tokens`. UsageError where the vocabulary lacks [CLS] or [SEP], or
  // where a question leaves a text no room. The tokenizer must outlive it.
  AnswerWindowEncoder(const BertTokenizer& tokenizer, std::int64_t most_tokens,
                      const WindowRules& rules);

  // At least one window; none of a text without a piece.
  AnswerWindows encode(std::string_view question, std::string_view text) const;

 private:
  const BertTokenizer& tokenizer_;
  std::size_t most_tokens_, question_tokens_, stride_;
  std::int32_t cls_, sep_;
};

}  // namespace smelt
