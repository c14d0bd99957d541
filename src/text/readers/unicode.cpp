#include "text/readers/unicode.h"

#include <unicode/brkiter.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "text/readers/nfc_check.h"

namespace smelt::text {
namespace {

// Calls visit(code point or negative, begin, end) for each well-formed sequence and for each run of
// ill-formed bytes.
template <class Visitor>
void for_each_code_point(std::string_view utf8, Visitor&& visit) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(utf8.data());
  const auto length = static_cast<std::int64_t>(utf8.size());
  for (std::int64_t i = 0; i < length;) {
    const std::int64_t begin = i;
    UChar32 c;
    U8_NEXT(bytes, i, length, c);
    visit(c, begin, i);
  }
}

}  // namespace

std::string decode_utf8_ignore(std::string_view bytes, std::size_t* dropped_bytes) {
  std::string kept;
  kept.reserve(bytes.size());
  std::size_t dropped = 0;
  for_each_code_point(bytes, [&](UChar32 c, std::int64_t begin, std::int64_t end) {
    if (c < 0)
      dropped += end - begin;
    else
      kept.append(bytes.substr(begin, end - begin));
  });
  if (dropped_bytes != nullptr) *dropped_bytes = dropped;
  return kept;
}

std::string replace_ill_formed(std::string_view bytes) {
  std::string out;
  for_each_code_point(bytes, [&](UChar32 c, std::int64_t begin, std::int64_t end) {
    out += c < 0 ? std::string_view("\xef\xbf\xbd") : bytes.substr(begin, end - begin);
  });
  return out;
}

std::u32string to_code_points(std::string_view utf8) {
  std::u32string code_points;
  code_points.reserve(utf8.size());
  for_each_code_point(utf8, [&](UChar32 c, std::int64_t, std::int64_t) {
    if (c >= 0) code_points.push_back(static_cast<char32_t>(c));
  });
  return code_points;
}

void append_utf8(char32_t code_point, std::string& out) {
  std::uint8_t bytes[U8_MAX_LENGTH];
  std::int32_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, static_cast<UChar32>(code_point));
  out.append(reinterpret_cast<const char*>(bytes), length);
}

bool is_python_space(char32_t code_point) {
  const auto c = static_cast<UChar32>(code_point);
  if (u_charType(c) == U_SPACE_SEPARATOR) return true;
  switch (u_charDirection(c)) {
    case U_WHITE_SPACE_NEUTRAL:
    case U_BLOCK_SEPARATOR:
    case U_SEGMENT_SEPARATOR:
      return true;
    default:
      return false;
  }
}

bool is_written_without_spaces(char32_t code_point) {
  const auto c = static_cast<UChar32>(code_point);
  if (c < 0x0E00) return false;
  if ((c >= 0x3001 && c <= 0x303F) || (c >= 0x30FB && c <= 0x30FC) || (c >= 0xFF01 && c <= 0xFF65))
    return true;
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(c, &status);
  // Tibetan puts a sign between syllables and a space only at the end of a sentence.
  return script == USCRIPT_TIBETAN || uscript_breaksBetweenLetters(script) != 0;
}

bool joins_without_space(std::string_view line, std::string_view next) {
  if (line.empty() || next.empty()) return false;
  const std::string_view tail = line.substr(line.size() - std::min<std::size_t>(line.size(), 4));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(tail.data());
  auto end = static_cast<std::int32_t>(tail.size());
  UChar32 last = 0, first = 0;
  U8_PREV(bytes, 0, end, last);
  const auto* next_bytes = reinterpret_cast<const std::uint8_t*>(next.data());
  std::int64_t begin = 0;
  U8_NEXT(next_bytes, begin, static_cast<std::int64_t>(next.size()), first);
  return last >= 0 && first >= 0 && !is_tibetan_end_mark(static_cast<char32_t>(last)) &&
         is_written_without_spaces(static_cast<char32_t>(last)) &&
         is_written_without_spaces(static_cast<char32_t>(first));
}

bool puts_spaces_between_sentences(std::string_view text) {
  // Both scripts are in U+0E00 to U+0EFF.
  return text.starts_with("\xE0\xB8") || text.starts_with("\xE0\xB9") ||
         text.starts_with("\xE0\xBA") || text.starts_with("\xE0\xBB");
}

std::size_t grapheme_end(std::string_view text, std::size_t at) {
  if (at == 0 || at >= text.size() || is_ascii(text.substr(at, 1))) return at;
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
  UText* utf8 = utext_openUTF8(nullptr, text.data(), std::ssize(text), &status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  breaks->setText(utf8, status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  const auto index = static_cast<std::int32_t>(at);
  const std::int32_t end = breaks->isBoundary(index) != 0 ? index : breaks->current();
  breaks.reset();
  utext_close(utf8);
  return static_cast<std::size_t>(end);
}

static const icu::Normalizer2& nfc_normalizer() {
  UErrorCode status = U_ZERO_ERROR;
  static const icu::Normalizer2* const form = icu::Normalizer2::getNFCInstance(status);
  CHECK(form != nullptr, u_errorName(status));
  return *form;
}

bool is_nfc(std::string_view text) {
  if (is_ascii(text) || is_quickly_nfc(text)) return true;
  UErrorCode status = U_ZERO_ERROR;
  const UBool found = nfc_normalizer().isNormalizedUTF8(
      {text.data(), static_cast<std::int32_t>(text.size())}, status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  return found != 0;
}

void to_nfc(std::string& text) {
  if (is_nfc(text)) return;
  UErrorCode status = U_ZERO_ERROR;
  std::string composed;
  icu::StringByteSink<std::string> sink(&composed);
  nfc_normalizer().normalizeUTF8(0, {text.data(), static_cast<std::int32_t>(text.size())}, sink,
                                 nullptr, status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  text = std::move(composed);
}

std::string case_folded(std::string_view text) {
  std::string out;
  icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())))
      .foldCase()
      .toUTF8String(out);
  return out;
}

std::string nfc(std::string text) {
  to_nfc(text);
  return text;
}

bool is_ascii(std::string_view text) {
  std::uint64_t high = 0, word = 0;
  std::size_t i = 0;
  for (; i + sizeof word <= text.size(); i += sizeof word) {
    std::memcpy(&word, text.data() + i, sizeof word);
    high |= word;
  }
  for (; i < text.size(); ++i) high |= static_cast<std::uint8_t>(text[i]);
  return (high & 0x8080808080808080) == 0;
}

std::string_view python_strip(std::string_view utf8) {
  const auto plain = [](char c) { return c > ' ' && c < 127; };
  if (!utf8.empty() && plain(utf8.front()) && plain(utf8.back())) return utf8;
  std::int64_t first = -1, last = 0;
  for_each_code_point(utf8, [&](UChar32 c, std::int64_t begin, std::int64_t end) {
    if (c >= 0 && is_python_space(static_cast<char32_t>(c))) return;
    if (first < 0) first = begin;
    last = end;
  });
  return first < 0 ? std::string_view() : utf8.substr(first, last - first);
}

}  // namespace smelt::text
