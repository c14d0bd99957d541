#include "text/tokenizers/script_counts.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>

#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

int script_of(char32_t c) {
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(static_cast<UChar32>(c), &status);
  return script == USCRIPT_INHERITED ? USCRIPT_COMMON : script;
}

int script_of(std::string_view text) {
  for (const char32_t c : to_code_points(text))
    if (const int script = script_of(c); script != USCRIPT_COMMON) return script;
  return USCRIPT_COMMON;
}

}  // namespace

void count_letters(std::string_view text, LetterCounts& counts) {
  for (const char32_t c : to_code_points(text)) {
    if (c == 0x200B) ++counts.zero_width_spaces;
    if ((U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_L_MASK) == 0) continue;
    ++counts.letters;
    if (!is_written_without_spaces(c)) continue;
    ++counts.without_spaces;
    const int script = script_of(c);
    if (script == USCRIPT_HAN || script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA)
      ++counts.han_and_kana;
  }
}

void ScriptCounts::add(std::string_view text, const std::vector<TokenSpan>& spans,
                       std::int32_t unknown, std::uint64_t times) {
  for (const char32_t c : to_code_points(text))
    if (!is_python_space(c)) counts_[script_of(c)].characters += times;
  for (const TokenSpan& span : spans) {
    ScriptCount& count = counts_[script_of(text.substr(span.begin, span.end - span.begin))];
    count.pieces += times;
    if (span.id == unknown) count.unknown += times;
  }
}

std::vector<ScriptCount> ScriptCounts::sorted() const {
  std::vector<ScriptCount> counts;
  for (const auto& [script, count] : counts_) {
    counts.push_back(count);
    counts.back().script = uscript_getName(static_cast<UScriptCode>(script));
  }
  std::ranges::stable_sort(counts, [](auto& a, auto& b) { return a.characters > b.characters; });
  return counts;
}

}  // namespace smelt::text
