// The original BERT's BasicTokenizer (google-research/bert tokenization.py), quirks included, which
// splits a text into words and punctuation. Its options also cover ELECTRA's version
// (google-research/electra model/tokenization.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/character_table.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt::text {

class BasicTokenizer {
 public:
  explicit BasicTokenizer(const TokenizerOptions& options)
      : table_(CharacterTable::of(options)), nfc_(options.nfc) {}
  explicit BasicTokenizer(bool lower_case)
      : BasicTokenizer(TokenizerOptions{.lower_case = lower_case}) {}

  // Appends the words of a text; ill-formed UTF-8 is skipped.
  void tokenize(std::string_view utf8, std::vector<std::string>& words) const;

 private:
  const CharacterTable& table_;
  bool nfc_;
};

}  // namespace smelt::text
