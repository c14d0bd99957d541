#include "text/tokenizers/slow_tokenizer.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "base/error.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

std::uint32_t category(char32_t c) { return U_MASK(u_charType(static_cast<UChar32>(c))); }

bool is_punctuation(char32_t c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
         (c >= 123 && c <= 126) || (category(c) & U_GC_P_MASK) != 0;
}

bool is_control(char32_t c, ControlCharacters control) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return (category(c) &
          (control == ControlCharacters::bert ? U_GC_CC_MASK | U_GC_CF_MASK : U_GC_C_MASK)) != 0;
}

bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::u32string clean(const std::u32string& text, const TokenizerOptions& options) {
  std::u32string cleaned;
  for (const char32_t c : text) {
    if (c == 0 || c == 0xFFFD || is_control(c, options.control)) continue;
    const bool splits = options.split_chinese && is_chinese(c);
    if (splits) cleaned.push_back(' ');
    cleaned.push_back(is_python_space(c) ? U' ' : c);
    if (splits) cleaned.push_back(' ');
  }
  return cleaned;
}

std::vector<std::u32string> split_at_spaces(const std::u32string& text) {
  std::vector<std::u32string> words(1);
  for (const char32_t c : text)
    if (c != ' ')
      words.back().push_back(c);
    else
      words.emplace_back();
  std::erase_if(words, [](const std::u32string& word) { return word.empty(); });
  return words;
}

std::u32string lower_and_strip(const std::u32string& word, const TokenizerOptions& options) {
  auto text = icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(word.data()),
                                            static_cast<std::int32_t>(word.size()));
  if (options.lower_case) text.toLower(icu::Locale::getRoot());
  UErrorCode status = U_ZERO_ERROR;
  if (options.strips_accents())
    text = icu::Normalizer2::getNFDInstance(status)->normalize(text, status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  std::u32string kept;
  for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    const auto c = static_cast<char32_t>(text.char32At(i));
    if (!options.strips_accents() || category(c) != U_GC_MN_MASK) kept.push_back(c);
  }
  return kept;
}

}  // namespace

std::vector<std::string> slow_words(std::string_view utf8, const TokenizerOptions& options) {
  std::vector<std::string> words;
  for (const std::u32string& word : split_at_spaces(clean(to_code_points(utf8), options))) {
    bool begins = true;
    for (const char32_t c : lower_and_strip(word, options)) {
      if (begins || is_punctuation(c)) words.emplace_back();
      append_utf8(c, words.back());
      begins = is_punctuation(c);
    }
  }
  return words;
}

std::vector<std::string> slow_pieces(const Vocabulary& vocabulary, const std::string& word,
                                     std::size_t limit) {
  if (to_code_points(word).size() > limit) return {"[UNK]"};
  std::vector<std::string> pieces;
  for (std::size_t start = 0; start < word.size();) {
    std::size_t end = word.size();
    std::string piece;
    for (; end > start; --end) {
      piece = (start > 0 ? "##" : "") + word.substr(start, end - start);
      if (vocabulary.find(piece)) break;
    }
    if (end == start) return {"[UNK]"};
    pieces.push_back(piece);
    start = end;
  }
  return pieces;
}

}  // namespace smelt::text
