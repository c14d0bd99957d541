// GPT-2's byte-level pre-tokenization (Radford et al. 2019): splits words by a pattern and
// represents every byte by a printable character.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace smelt::text {

// Returns each byte as a character: printable bytes of Latin-1 unchanged, the others as U+0100 and
// up. A space becomes "Ġ".
std::string to_byte_characters(std::string_view bytes);
// Returns the original bytes, or nullopt if a character represents no byte.
std::optional<std::string> from_byte_characters(std::string_view characters);

// Returns where the word that begins at `at` ends, by the pattern
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// `at` must be less than text.size(). Ill-formed bytes are neither letters, numbers nor white
// space.
std::size_t byte_level_word_end(std::string_view text, std::size_t at);

}  // namespace smelt::text
