#include "evaluation/metrics/answers.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <cctype>

#include "base/str.h"
#include "evaluation/metrics/words.h"
#include "text/readers/unicode.h"

namespace smelt::evaluation {
namespace {

bool is_article(const std::u32string& word) {
  return word == U"a" || word == U"an" || word == U"the";
}

// Returns whether \w of Python's re matches the character.
bool is_word(char32_t c) {
  const auto code = static_cast<UChar32>(c);
  return c == U'_' || u_isalpha(code) != 0 ||
         u_getIntPropertyValue(code, UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}

AnswerScore score_of(std::string_view predicted, std::string_view wanted) {
  AnswerScore out{.exact = predicted == wanted ? 1.0 : 0.0};
  const std::vector<std::string> p = python_split(predicted), w = python_split(wanted);
  if (p.empty() || w.empty()) return {out.exact, p.empty() && w.empty() ? 1.0 : 0.0};
  const auto both = static_cast<double>(shared(ngrams_of(p, 1), ngrams_of(w, 1)));
  out.f1 = 2 * both / static_cast<double>(p.size() + w.size());
  return out;
}

}  // namespace

std::string squad_normalized(std::string_view text) {
  std::string without;  // the text without articles
  std::u32string run;
  const auto flush = [&] {
    if (is_article(run)) run = U" ";
    for (const char32_t c : run) text::append_utf8(c, without);
    run.clear();
  };
  for (const char32_t c : text::to_code_points(python_lower(text))) {
    if (c < 0x80 && std::ispunct(static_cast<int>(c)) != 0) continue;
    if (is_word(c)) {
      run += c;
      continue;
    }
    flush();
    text::append_utf8(c, without);
  }
  flush();
  return join(python_split(without), " ");
}

AnswerScore squad_score(std::string_view predicted, std::span<const std::string> wanted) {
  const std::string given = squad_normalized(predicted);
  AnswerScore best;
  bool any = false;
  for (const std::string& answer : wanted) {
    const std::string right = squad_normalized(answer);
    if (right.empty()) continue;
    any = true;
    const AnswerScore score = score_of(given, right);
    best = {std::max(best.exact, score.exact), std::max(best.f1, score.f1)};
  }
  return any ? best : score_of(given, "");
}

}  // namespace smelt::evaluation
