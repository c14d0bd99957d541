#include "text/tokenizers/byte_level.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <array>
#include <cstdint>
#include <unordered_map>

#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

enum class CharacterKind : std::uint8_t { letter, number, space, other };

CharacterKind kind_of(UChar32 c) {
  if (c < 0) return CharacterKind::other;
  const std::uint32_t category = U_GET_GC_MASK(c);
  if ((category & U_GC_L_MASK) != 0) return CharacterKind::letter;
  if ((category & U_GC_N_MASK) != 0) return CharacterKind::number;
  return u_isUWhiteSpace(c) != 0 ? CharacterKind::space : CharacterKind::other;
}

std::array<CharacterKind, 128> ascii_kinds() {
  std::array<CharacterKind, 128> out;
  for (UChar32 c = 0; c < 128; ++c) out[static_cast<std::size_t>(c)] = kind_of(c);
  return out;
}

// Returns the kind of the character at `at`, which must be in the text, and moves `at` past it.
CharacterKind take_kind(std::string_view text, std::size_t& at) {
  static const std::array<CharacterKind, 128> kAscii = ascii_kinds();
  const auto byte = static_cast<std::uint8_t>(text[at]);
  if (byte < 128) {
    ++at;
    return kAscii[byte];
  }
  UChar32 c;
  U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.data()), at, text.size(), c);
  return kind_of(c);
}

// Returns the length of the contraction at the apostrophe at `at`, or 0.
std::size_t contraction_length(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at + 1, 2);
  for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"})
    if (rest.starts_with(ending)) return 1 + ending.size();
  return 0;
}

// Returns the end of the white space at `at`. Unless the text ends there, the last white space
// character belongs to the next word.
std::size_t space_end(std::string_view text, std::size_t at) {
  std::size_t end = at, last = at;
  while (end < text.size()) {
    std::size_t next = end;
    if (take_kind(text, next) != CharacterKind::space) break;
    last = end;
    end = next;
  }
  return end == text.size() || last == at ? end : last;
}

std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> out;
  char32_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    out[byte] = printable ? static_cast<char32_t>(byte) : next++;
  }
  return out;
}

}  // namespace

std::string to_byte_characters(std::string_view bytes) {
  static const std::array<char32_t, 256> kCharacters = byte_characters();
  std::string out;
  for (const char byte : bytes) append_utf8(kCharacters[static_cast<std::uint8_t>(byte)], out);
  return out;
}

std::optional<std::string> from_byte_characters(std::string_view characters) {
  static const std::unordered_map<char32_t, char> kBytes = [] {
    std::unordered_map<char32_t, char> out;
    const auto all = byte_characters();
    for (std::size_t byte = 0; byte < 256; ++byte) out[all[byte]] = static_cast<char>(byte);
    return out;
  }();
  std::string out;
  for (const char32_t c : to_code_points(characters)) {
    const auto found = kBytes.find(c);
    if (found == kBytes.end()) return std::nullopt;
    out += found->second;
  }
  return out;
}

std::size_t byte_level_word_end(std::string_view text, std::size_t at) {
  if (text[at] == '\'')
    if (const std::size_t length = contraction_length(text, at)) return at + length;
  std::size_t end = at;
  CharacterKind kind = take_kind(text, end);
  if (text[at] == ' ' && end < text.size()) {
    std::size_t next = end;
    if (const CharacterKind behind = take_kind(text, next); behind != CharacterKind::space) {
      kind = behind;
      end = next;
    }
  }
  if (kind == CharacterKind::space) return space_end(text, at);
  while (end < text.size()) {
    std::size_t next = end;
    if (take_kind(text, next) != kind) break;
    end = next;
  }
  return end;
}

}  // namespace smelt::text
