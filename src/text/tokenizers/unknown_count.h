// Tokens of a text that are unknown to the vocabulary, and the characters that make them so.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "text/tokenizers/tokenizer.h"

namespace smelt {

using CharacterCounts = std::map<char32_t, std::uint64_t>;

// Counts the characters of the text's unknown words that the vocabulary has no piece for. Returns
// how many code points the unknown words have.
std::uint64_t count_unknown_characters(std::string_view text, const Tokenizer& tokenizer,
                                       CharacterCounts& counts);

// Does so for both texts of a pair; the second may be empty.
void count_unknown_characters(std::string_view text, std::string_view pair,
                              const Tokenizer& tokenizer, CharacterCounts& counts);

struct TextCount {
  std::uint64_t unknown_tokens = 0;
  std::uint64_t known_characters = 0;  // code points, spaces too, but for those of unknown words
};
// Counts a text whose tokens are `ids`, and adds the characters of its unknown words as
// count_unknown_characters() does.
TextCount count_text(std::string_view text, std::span<const std::int32_t> ids,
                     const Tokenizer& tokenizer, CharacterCounts& counts);
void add_counts(const CharacterCounts& more, CharacterCounts& counts);

// How many tokens of a text there are, and how many of them are unknown to the vocabulary.
struct UnknownCount {
  std::uint64_t unknown = 0, tokens = 0;
  CharacterCounts characters = {};

  void add(std::span<const std::int32_t> ids, std::int32_t unknown_id);
  void add(std::string_view text, std::span<const std::int32_t> ids, const Tokenizer& tokenizer);
  // Logs a warning if more than one token in a hundred, and more than one in all, is unknown, with
  // the most frequent of the characters. `what` names the text.
  void warn(std::string_view what, std::string_view vocab) const;
};

}  // namespace smelt
