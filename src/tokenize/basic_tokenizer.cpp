#include "tokenize/basic_tokenizer.h"

#include "tokenize/word_scanner.h"

namespace smelt {
namespace {

struct WordSink {
  std::vector<std::string>& words;
  std::string word;

  void from(std::size_t, std::size_t) {}
  void append(std::uint8_t byte) { word.push_back(static_cast<char>(byte)); }
  void append(std::string_view bytes, std::size_t) { word.append(bytes); }
  void end_word() {
    if (word.empty()) return;
    words.push_back(std::move(word));
    word.clear();
  }
};

}  // namespace

void BasicTokenizer::tokenize(std::string_view utf8, std::vector<std::string>& words) const {
  WordSink sink{words, {}};
  scan_words(table_, utf8, sink);
}

}  // namespace smelt
