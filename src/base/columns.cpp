#include "base/columns.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>

#include "base/str.h"

namespace smelt {
namespace {

std::size_t columns_of(UChar32 c) {
  if (c < 0) return 1;  // a byte that is not UTF-8
  // Vowels and finals of Hangul that follow their consonant are drawn within its two columns.
  const auto syllable = u_getIntPropertyValue(c, UCHAR_HANGUL_SYLLABLE_TYPE);
  if (syllable == U_HST_VOWEL_JAMO || syllable == U_HST_TRAILING_JAMO) return 0;
  if ((U_GET_GC_MASK(c) & (U_GC_MN_MASK | U_GC_ME_MASK | U_GC_CF_MASK)) != 0) return 0;
  const auto width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

// Returns the columns of the character at `at`, and advances `at` past it.
std::size_t next_columns(std::string_view text, std::size_t& at) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  auto i = static_cast<std::int64_t>(at);
  UChar32 c = 0;
  U8_NEXT(bytes, i, static_cast<std::int64_t>(text.size()), c);
  at = static_cast<std::size_t>(i);
  return columns_of(c);
}

}  // namespace

std::size_t columns(std::string_view text) {
  std::size_t out = 0;
  for (std::size_t at = 0; at < text.size();) out += next_columns(text, at);
  return out;
}

std::string shortened_to_columns(std::string_view text, std::size_t most) {
  if (columns(text) <= most) return std::string(text);
  std::size_t end = 0, taken = 1;  // counts the "…"
  for (std::size_t next = 0; (taken += next_columns(text, next)) <= most;) end = next;
  return str(trim(text.substr(0, end)), "…");
}

}  // namespace smelt
