// Counts tokens of a text that are unknown to the vocabulary, and the characters that cause them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "text/tokenizers/tokenizer.h"

namespace smelt::text {

using CharacterCounts = std::map<char32_t, std::uint64_t>;

// Counts the characters in the text's unknown words for which the vocabulary has no piece. Returns
// the number of code points in unknown words.
std::uint64_t count_unknown_characters(std::string_view text, const Tokenizer& tokenizer,
                                       CharacterCounts& counts);

// Counts both texts of a pair; the second may be empty.
void count_unknown_characters(std::string_view text, std::string_view pair,
                              const Tokenizer& tokenizer, CharacterCounts& counts);

struct TextCount {
  std::uint64_t unknown_tokens = 0;
  std::uint64_t known_characters = 0;  // code points outside unknown words, spaces included
};
// Returns the counts of a text whose tokens are `ids`. Adds the characters of its unknown words to
// `counts`, as count_unknown_characters() does.
TextCount count_text(std::string_view text, std::span<const std::int32_t> ids,
                     const Tokenizer& tokenizer, CharacterCounts& counts);
void add_counts(const CharacterCounts& more, CharacterCounts& counts);

// The number of tokens of a text and how many of them are unknown.
struct UnknownCount {
  std::uint64_t unknown = 0, tokens = 0;
  CharacterCounts characters = {};

  void add(std::span<const std::int32_t> ids, std::int32_t unknown_id);
  void add(std::string_view text, std::span<const std::int32_t> ids, const Tokenizer& tokenizer);
  // Logs a warning with the most frequent characters if more than one token in total and more than
  // 1 % of the tokens are unknown. `what` names the text.
  void warn(std::string_view what, std::string_view vocab) const;
};

}  // namespace smelt::text
