// Byte-level pre-tokenization as GPT-2 has it (Radford et al. 2019): words by one pattern, and a
// printable character for every byte.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace smelt {

// Each byte as a character: printable bytes of Latin-1 as they are, the others from U+0100 on. A
// space is "Ġ".
std::string to_byte_characters(std::string_view bytes);
// The bytes again; nullopt for a character that stands for none.
std::optional<std::string> from_byte_characters(std::string_view characters);

// Returns where the word that begins at `at` ends, by the pattern
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// `at` < text.size(). Ill-formed bytes are neither letters, numbers nor white space.
std::size_t byte_level_word_end(std::string_view text, std::size_t at);

}  // namespace smelt
