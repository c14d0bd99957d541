// Counts which scripts a text is in and how well a tokenizer covers them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer.h"

namespace smelt::text {

struct LetterCounts {
  std::uint64_t letters = 0;
  // Number of these letters in scripts without spaces between words (is_written_without_spaces()).
  std::uint64_t without_spaces = 0;
  std::uint64_t han_and_kana = 0;       // number of these in the scripts of Chinese and Japanese
  std::uint64_t zero_width_spaces = 0;  // U+200B, which may separate words in Khmer and Burmese
};
void count_letters(std::string_view text, LetterCounts& counts);

struct ScriptCount {
  std::string
      script;  // Unicode name such as Latin or Han; Common for shared characters such as digits
  std::uint64_t characters = 0;  // without white space
  // Number of pieces in this script: the script of a piece's first character that is not "Common".
  std::uint64_t pieces = 0;
  std::uint64_t unknown = 0;  // number of these pieces that are unknown
};

class ScriptCounts {
 public:
  // Adds a text that occurs `times` times.
  void add(std::string_view text, const std::vector<TokenSpan>& spans, std::int32_t unknown,
           std::uint64_t times = 1);
  // Returns the counts, most characters first.
  std::vector<ScriptCount> sorted() const;

 private:
  std::map<int, ScriptCount> counts_;  // by ICU's script code
};

}  // namespace smelt::text
