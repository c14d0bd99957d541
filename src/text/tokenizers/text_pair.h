// A text, or two, as an encoder of BERT's family reads them: [CLS] a [SEP] b [SEP], cut to a
// length as google-research/bert run_classifier.py, _truncate_seq_pair, cuts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizers/wordpiece.h"

namespace smelt {

struct TextPairIds {
  std::vector<std::int32_t> ids;
  std::size_t first = 0;  // ids up to the first [SEP], it included: of segment 0
  std::size_t cut = 0;    // pieces that were left out
  // Of a text of words: where the first piece of each that is not cut off stands in ids.
  std::vector<std::size_t> words = {};
};

// The words of a text, which spaces stand between.
std::vector<std::string_view> words_in(std::string_view text);

class TextPairEncoder {
 public:
  // At most `most_tokens` ids, at least 5. UsageError where the vocabulary lacks [CLS] or [SEP].
  // The tokenizer must outlive it.
  TextPairEncoder(const BertTokenizer& tokenizer, std::int64_t most_tokens);

  // An empty `b` has no [SEP]: then a alone is cut at its end. Of two the longer loses pieces at
  // its end, one at a time.
  TextPairIds encode(std::string_view a, std::string_view b) const;
  // [CLS] words [SEP]; a word that has no piece is [UNK]. What is too long loses its end.
  TextPairIds encode_words(std::span<const std::string_view> words) const;

 private:
  const BertTokenizer& tokenizer_;
  std::size_t most_tokens_;
  std::int32_t cls_, sep_;
};

}  // namespace smelt
