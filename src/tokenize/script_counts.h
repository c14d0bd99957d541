// Which scripts a text is in and how well a tokenizer knows them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tokenize/tokenizer.h"

namespace smelt {

// Whether the character's script separates words by spaces, as Chinese, Japanese, Thai, Lao, Khmer,
// Burmese and Tibetan do not. True for characters of no script.
bool writes_spaces(char32_t code_point);

// Adds the letters of the text, and those of scripts that do not write spaces.
void count_letters(std::string_view text, std::uint64_t& letters, std::uint64_t& without_spaces);

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
