// The original BERT's BasicTokenizer (google-research/bert tokenization.py), quirks included: words and
// punctuation of a text. Unicode properties are ICU's: for all code points of Unicode 14 they do what the original
// does under Python 3.11; of younger ones ICU may know the kind, where that Python takes them for letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt {

class BasicTokenizer {
 public:
  // lower_case also strips accents (NFD without marks), so it takes Hangul apart into Jamo.
  explicit BasicTokenizer(bool lower_case) : lower_case_(lower_case) {}

  // Appends the words of one text; ill-formed UTF-8 is left out.
  void tokenize(std::string_view utf8, std::vector<std::string>& words) const;
  // The same without the fast way for ASCII: for the tests that compare the two.
  void tokenize_slow(std::string_view utf8, std::vector<std::string>& words) const;

 private:
  void tokenize_ascii(std::string_view text, std::vector<std::string>& words) const;

  bool lower_case_;
};

}  // namespace smelt
