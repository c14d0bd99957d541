#include "text/tokenizers/precompiled_map.h"

#include <unicode/brkiter.h>
#include <unicode/utext.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "io/formats/little_endian.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

constexpr std::size_t kUnitBytes = 4, kLongestGrapheme = 5;
constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Fields of a unit of the trie (Darts-clone).
bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) == 1; }
std::uint32_t leaf_value(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FF; }
std::uint32_t offset_of(std::uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

// Returns the ends of all graphemes of the text.
std::vector<std::size_t> grapheme_ends(const std::string& text) {
  std::vector<std::size_t> ends;
  if (is_ascii(text)) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') ends.push_back(i + 1);
    return ends;
  }
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
  UText* utf8 = utext_openUTF8(nullptr, text.data(), std::ssize(text), &status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  breaks->setText(utf8, status);
  for (std::int32_t at = breaks->next(); at != icu::BreakIterator::DONE; at = breaks->next())
    ends.push_back(static_cast<std::size_t>(at));
  utext_close(utf8);
  return ends;
}

std::size_t next_character(std::string_view text, std::size_t at) {
  do ++at;
  while (at < text.size() && continues_character(text[at]));
  return at;
}

}  // namespace

std::optional<PrecompiledMap> PrecompiledMap::parse(std::string_view bytes) {
  if (bytes.size() < kUnitBytes) return std::nullopt;
  const auto size = io::from_little_endian<std::uint32_t>(bytes);
  bytes.remove_prefix(kUnitBytes);
  if (size == 0 || size % kUnitBytes != 0 || size > bytes.size()) return std::nullopt;
  PrecompiledMap out;
  for (std::size_t at = 0; at < size; at += kUnitBytes)
    out.units_.push_back(io::from_little_endian<std::uint32_t>(bytes.substr(at)));
  out.texts_ = bytes.substr(size);
  return out;
}

std::optional<std::string_view> PrecompiledMap::replacement(std::string_view text) const {
  std::size_t node = offset_of(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) return std::nullopt;
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    const std::size_t at = node < units_.size() ? leaf_value(units_[node]) : texts_.size();
    if (at >= texts_.size()) return std::nullopt;
    return std::string_view(texts_).substr(at, texts_.find('\0', at) - at);
  }
  return std::nullopt;
}

bool PrecompiledMap::append(const MappedText& in, std::size_t begin, std::size_t end,
                            MappedText& out) const {
  const auto found = replacement(std::string_view(in.text).substr(begin, end - begin));
  if (!found) return false;
  // Character i of the replacement gets the source of character i, or of the last one.
  std::size_t from = begin;
  for (std::size_t at = 0; at < found->size();) {
    const std::size_t next = next_character(*found, at);
    const std::size_t behind = std::min(next_character(in.text, from), end);
    out.append(found->substr(at, next - at), in.source(from, behind));
    if (behind < end) from = behind;
    at = next;
  }
  return true;
}

MappedText PrecompiledMap::apply(const MappedText& in) const {
  MappedText out = in.like();
  std::size_t begin = 0;
  for (const std::size_t end : grapheme_ends(in.text)) {
    const bool is_whole = end - begin <= kLongestGrapheme && append(in, begin, end, out);
    for (std::size_t at = begin; !is_whole && at < end;) {
      const std::size_t next = std::min(next_character(in.text, at), end);
      if (!append(in, at, next, out)) out.append(in, at, next);
      at = next;
    }
    begin = end;
  }
  return out;
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    const std::size_t digits = std::min<std::size_t>(bytes.size() - at, 3) + 1;
    for (std::size_t i = 0; i < 4; ++i)
      out += i < digits ? kBase64Digits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto digit = kBase64Digits.find(c);
    if (digit == kBase64Digits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((count += 6) < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

}  // namespace smelt::text
