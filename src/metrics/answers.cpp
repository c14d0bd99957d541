#include "metrics/answers.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <cctype>

#include "base/str.h"
#include "metrics/words.h"
#include "text/unicode.h"

namespace smelt {
namespace {

RougeScore rouge_score(double both, double predicted, double wanted) {
  RougeScore out{.precision = both / std::max(predicted, 1.0),
                 .recall = both / std::max(wanted, 1.0)};
  if (out.precision + out.recall > 0)
    out.f1 = 2 * out.precision * out.recall / (out.precision + out.recall);
  return out;
}

// Runs of a-z and 0-9 of the text in lower case.
std::vector<std::string> rouge_words(std::string_view text) {
  std::string kept = python_lower(text);
  for (char& c : kept)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) c = ' ';
  return python_split(kept);
}

std::size_t longest_common(std::span<const std::string> a, std::span<const std::string> b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (const std::string& word : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

bool is_article(const std::u32string& word) {
  return word == U"a" || word == U"an" || word == U"the";
}

// What a \w of Python's re matches.
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
  std::string without;  // articles
  std::u32string run;
  const auto flush = [&] {
    if (is_article(run)) run = U" ";
    for (const char32_t c : run) append_utf8(c, without);
    run.clear();
  };
  for (const char32_t c : to_code_points(python_lower(text))) {
    if (c < 0x80 && std::ispunct(static_cast<int>(c)) != 0) continue;
    if (is_word(c)) {
      run += c;
      continue;
    }
    flush();
    append_utf8(c, without);
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

RougeScore rouge_n(std::string_view predicted, std::string_view wanted, std::size_t n) {
  const std::vector<std::string> p = rouge_words(predicted), w = rouge_words(wanted);
  const auto runs = [n](const auto& words) {
    return words.size() < n ? 0.0 : static_cast<double>(words.size() - n + 1);
  };
  return rouge_score(static_cast<double>(shared(ngrams_of(p, n), ngrams_of(w, n))), runs(p),
                     runs(w));
}

RougeScore rouge_l(std::string_view predicted, std::string_view wanted) {
  const std::vector<std::string> p = rouge_words(predicted), w = rouge_words(wanted);
  return rouge_score(static_cast<double>(longest_common(p, w)), static_cast<double>(p.size()),
                     static_cast<double>(w.size()));
}

}  // namespace smelt
