#include "tokenize/basic_tokenizer.h"

#include "tokenize/word_scanner.h"

namespace smelt {
void BasicTokenizer::tokenize(std::string_view utf8, std::vector<std::string>& words) const {
  for_each_word(table_, utf8, std::string::npos,
                [&](const std::string& word) { words.push_back(word); });
}

}  // namespace smelt
