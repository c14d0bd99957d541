#include "text/basic_tokenizer.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "text/unicode.h"

namespace smelt {
namespace {

bool is_ascii_punctuation(char32_t c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
         (c >= 123 && c <= 126);
}

bool is_punctuation(char32_t c) {
  if (c < 128) return is_ascii_punctuation(c);
  return (U_MASK(u_charType(static_cast<UChar32>(c))) & U_GC_P_MASK) != 0;
}

bool is_tab_or_newline(char32_t c) { return c == '\t' || c == '\n' || c == '\r'; }

bool is_control(char32_t c) {
  if (is_tab_or_newline(c)) return false;
  return (U_MASK(u_charType(static_cast<UChar32>(c))) & (U_GC_CC_MASK | U_GC_CF_MASK)) != 0;
}

bool is_whitespace(char32_t c) {
  return is_tab_or_newline(c) || u_charType(static_cast<UChar32>(c)) == U_SPACE_SEPARATOR;
}

// The blocks that the original calls Chinese.
bool is_chinese(char32_t c) {
  constexpr std::array<std::pair<char32_t, char32_t>, 8> kBlocks{{{0x4E00, 0x9FFF},
                                                                  {0x3400, 0x4DBF},
                                                                  {0x20000, 0x2A6DF},
                                                                  {0x2A700, 0x2B73F},
                                                                  {0x2B740, 0x2B81F},
                                                                  {0x2B820, 0x2CEAF},
                                                                  {0xF900, 0xFAFF},
                                                                  {0x2F800, 0x2FA1F}}};
  return std::ranges::any_of(kBlocks, [&](auto b) { return c >= b.first && c <= b.second; });
}

const icu::Normalizer2& nfd() {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFDInstance(status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  return *normalizer;
}

// Full lower case of one word (final sigma looks at the whole of it), decomposed, without marks.
std::u32string lower_without_accents(const std::u32string& word) {
  auto text = icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(word.data()),
                                            static_cast<std::int32_t>(word.size()));
  text.toLower(icu::Locale::getRoot());
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeString decomposed = nfd().normalize(text, status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  std::u32string kept;
  for (std::int32_t i = 0; i < decomposed.length(); i = decomposed.moveIndex32(i, 1)) {
    const UChar32 c = decomposed.char32At(i);
    if (u_charType(c) != U_NON_SPACING_MARK) kept.push_back(static_cast<char32_t>(c));
  }
  return kept;
}

void split_on_punctuation(const std::u32string& word, std::vector<std::string>& out) {
  bool open = false;  // whether the last of `out` may be continued
  for (const char32_t c : word) {
    const bool punctuation = is_punctuation(c);
    if (punctuation || !open) out.emplace_back();
    append_utf8(c, out.back());
    open = !punctuation;
  }
}

}  // namespace

void BasicTokenizer::tokenize(std::string_view utf8, std::vector<std::string>& words) const {
  const bool ascii = std::ranges::all_of(utf8, [](char c) { return (c & 0x80) == 0; });
  ascii ? tokenize_ascii(utf8, words) : tokenize_slow(utf8, words);
}

void BasicTokenizer::tokenize_ascii(std::string_view text, std::vector<std::string>& words) const {
  bool open = false;
  for (char c : text) {
    if (c == ' ' || is_tab_or_newline(static_cast<unsigned char>(c))) {
      open = false;
      continue;
    }
    if (c < ' ' || c == 127) continue;  // control characters vanish without splitting
    const bool punctuation = is_ascii_punctuation(static_cast<unsigned char>(c));
    if (punctuation || !open) words.emplace_back();
    if (lower_case_ && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    words.back().push_back(c);
    open = !punctuation;
  }
}

void BasicTokenizer::tokenize_slow(std::string_view utf8, std::vector<std::string>& words) const {
  std::u32string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    split_on_punctuation(lower_case_ ? lower_without_accents(word) : word, words);
    word.clear();
  };
  for (const char32_t c : to_code_points(utf8)) {
    if (c == 0 || c == 0xFFFD || is_control(c)) continue;
    const bool space = is_whitespace(c) || is_python_space(c);
    if (space || is_chinese(c)) end_word();
    if (!space) word.push_back(c);
    if (is_chinese(c)) end_word();
  }
  end_word();
}

}  // namespace smelt
