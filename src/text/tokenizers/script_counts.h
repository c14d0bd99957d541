// Which scripts a text is in and how well a tokenizer knows them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer.h"

namespace smelt {

struct LetterCounts {
  std::uint64_t letters = 0;
  std::uint64_t without_spaces =
      0;  // of them: is_written_without_spaces() (text/readers/unicode.h)
  std::uint64_t zero_width_spaces = 0;  // U+200B, by which Khmer and Burmese text may mark words
};
void count_letters(std::string_view text, LetterCounts& counts);

struct ScriptCount {
  std::string
      script;  // Unicode's name: Latin, Han ...; Common for what all scripts share, as digits
  std::uint64_t characters = 0;  // without white space
  std::uint64_t pieces = 0;      // which count where the first character that is not Common belongs
  std::uint64_t unknown = 0;     // of pieces
};

class ScriptCounts {
 public:
  // `times`: how often the text stands there.
  void add(std::string_view text, const std::vector<TokenSpan>& spans, std::int32_t unknown,
           std::uint64_t times = 1);
  // Most characters first.
  std::vector<ScriptCount> sorted() const;

 private:
  std::map<int, ScriptCount> counts_;  // by ICU's code
};

}  // namespace smelt
