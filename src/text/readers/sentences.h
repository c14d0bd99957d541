// Splits prose in any language into sentences.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::text {

// Splits paragraphs into sentences by the rules of Unicode Standard Annex 29 (ICU), with these
// corrections:
// - Khmer and Tibetan signs end a sentence, and so does ';' in a Greek paragraph.
// - Thai and Lao, which have no sentence marks, are split at a space after at least
// kUnmarkedSentence characters.
// - An opening bracket or quote begins the next sentence.
// - Common abbreviations, initials and German dates do not end a sentence.
// Not thread-safe.
class SentenceSplitter {
 public:
  SentenceSplitter();
  ~SentenceSplitter();

  // Appends the sentences of one UTF-8 paragraph, without white space at their ends.
  void split(std::string_view paragraph, std::vector<std::string>& sentences);

 private:
  struct Iterators;
  std::unique_ptr<Iterators> iterators_;
};

// Minimum number of characters of a Thai or Lao sentence that ends at a space.
constexpr int kUnmarkedSentence = 40;

}  // namespace smelt::text
