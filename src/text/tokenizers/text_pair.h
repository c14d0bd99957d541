// Encodes one or two texts as [CLS] a [SEP] b [SEP] for an encoder of the BERT family, truncated as
// by _truncate_seq_pair in google-research/bert run_classifier.py.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizers/wordpiece.h"

namespace smelt::text {

struct TextPairIds {
  std::vector<std::int32_t> ids;
  std::size_t first = 0;  // number of ids up to and including the first [SEP] (segment 0)
  std::size_t cut = 0;    // number of truncated pieces
  // For a text of words: position in `ids` of the first piece of each word that is not truncated.
  std::vector<std::size_t> words = {};
};

// Returns the words of a text, which are separated by spaces.
std::vector<std::string_view> words_in(std::string_view text);

class TextPairEncoder {
 public:
  // Encodes to at most `most_tokens` ids, which must be at least 5. Throws UsageError if the
  // vocabulary lacks [CLS] or [SEP]. The tokenizer must outlive this object.
  TextPairEncoder(const BertTokenizer& tokenizer, std::int64_t most_tokens);

  // Encodes one text if `b` is empty, truncated at its end. For two texts, the longer one loses its
  // last piece until both fit.
  TextPairIds encode(std::string_view a, std::string_view b) const;
  // Returns [CLS] words [SEP], truncated at the end. A word without a piece becomes [UNK].
  TextPairIds encode_words(std::span<const std::string_view> words) const;

 private:
  const BertTokenizer& tokenizer_;
  std::size_t most_tokens_;
  std::int32_t cls_, sep_;
};

}  // namespace smelt::text
