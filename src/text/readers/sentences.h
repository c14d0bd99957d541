// Sentences of running prose in any language.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// Splits paragraphs into sentences by the rules of Unicode Standard Annex 29 (ICU), corrected where
// they fail:
// - Khmer and Tibetan signs end a sentence, and so does ';' in a paragraph of Greek.
// - Thai and Lao, which have no such signs, are cut at a space after kUnmarkedSentence characters.
// - An opening bracket or quote begins the next sentence.
// - Common abbreviations, initials and German dates end no sentence.
// Not safe to use from several threads at once.
class SentenceSplitter {
 public:
  SentenceSplitter();
  ~SentenceSplitter();

  // Appends the sentences of one paragraph of UTF-8, without white space at their ends.
  void split(std::string_view paragraph, std::vector<std::string>& sentences);

 private:
  struct Iterators;
  std::unique_ptr<Iterators> iterators_;
};

// The least characters of a Thai or Lao sentence that ends at a space.
constexpr int kUnmarkedSentence = 40;

}  // namespace smelt
