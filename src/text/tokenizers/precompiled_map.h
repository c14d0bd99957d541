// The character map of a SentencePiece model (precompiled_charsmap), such as NFKC, applied as by
// Hugging Face's "Precompiled" normalizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/mapped_text.h"

namespace smelt::text {

// Immutable and thread-safe.
class PrecompiledMap {
 public:
  // A map has the size of a double-array trie in bytes (u32), the trie's units (u32, little endian)
  // and the replacements, which end with zero bytes. Returns nullopt if the bytes have another
  // form.
  static std::optional<PrecompiledMap> parse(std::string_view bytes);

  // Replaces each grapheme of at most 5 bytes that begins with a key of the map, and in other
  // graphemes each character that is a key. Hugging Face's library uses the shortest key.
  MappedText apply(const MappedText& in) const;

 private:
  // Returns the replacement of the shortest key that `text` begins with.
  std::optional<std::string_view> replacement(std::string_view text) const;
  // Appends the replacement of the bytes [begin, end) of `in`. Returns false if no key matches.
  bool append(const MappedText& in, std::size_t begin, std::size_t end, MappedText& out) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

// Encode and decode base64 with padding. from_base64() returns nullopt if a character is not a
// base64 digit.
std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

}  // namespace smelt::text
