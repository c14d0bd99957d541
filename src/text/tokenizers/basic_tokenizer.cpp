#include "text/tokenizers/basic_tokenizer.h"

#include "text/readers/unicode.h"
#include "text/tokenizers/word_scanner.h"

namespace smelt::text {
void BasicTokenizer::tokenize(std::string_view utf8, std::vector<std::string>& words) const {
  const auto add = [&](const std::string& word) { words.push_back(word); };
  if (nfc_ && !is_nfc(utf8))
    return for_each_word(table_, nfc(std::string(utf8)), std::string::npos, add);
  for_each_word(table_, utf8, std::string::npos, add);
}

}  // namespace smelt::text
