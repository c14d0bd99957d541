#include "evaluation/metrics/rouge.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/str.h"
#include "evaluation/metrics/porter.h"
#include "evaluation/metrics/words.h"

namespace smelt::evaluation {
namespace {

constexpr std::size_t kShortWord = 3;  // longest word, in letters, that is not stemmed

using Sentence = std::vector<std::string>;

RougeScore rouge_score(double both, double predicted, double wanted) {
  RougeScore out{.precision = both / std::max(predicted, 1.0),
                 .recall = both / std::max(wanted, 1.0)};
  if (out.precision + out.recall > 0)
    out.f1 = 2 * out.precision * out.recall / (out.precision + out.recall);
  return out;
}

Sentence rouge_words(std::string_view text, Stems stems) {
  std::string kept = python_lower(text);
  for (char& c : kept)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) c = ' ';
  Sentence words = python_split(kept);
  if (stems == Stems::porter)
    for (std::string& word : words)
      if (word.size() > kShortWord) word = porter_stem(word);
  return words;
}

std::vector<Sentence> rouge_sentences(std::string_view text, Stems stems) {
  std::vector<Sentence> out;
  for (const std::string_view line : split(text, '\n')) out.push_back(rouge_words(line, stems));
  return out;
}

// Marks the words of `a` that are in the longest common subsequence. Among equally long ones, picks
// the same one as rouge-score. Uses one bit of memory for each pair of words.
void mark_common(const Sentence& a, const Sentence& b, std::vector<bool>& marks) {
  const std::size_t columns = b.size();
  std::vector<std::size_t> row(columns + 1);
  std::vector<bool> is_left_longer(a.size() * columns);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t above = row[j + 1];
      is_left_longer[i * columns + j] = row[j] > above;
      row[j + 1] = a[i] == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  for (std::size_t i = a.size(), j = columns; i > 0 && j > 0;) {
    if (a[i - 1] == b[j - 1]) {
      marks[--i] = true;
      --j;
    } else if (is_left_longer[(i - 1) * columns + j - 1]) {
      --j;
    } else {
      --i;
    }
  }
}

using WordCounts = std::map<std::string, std::size_t>;

WordCounts counts_of(const std::vector<Sentence>& sentences) {
  WordCounts out;
  for (const Sentence& sentence : sentences)
    for (const std::string& word : sentence) ++out[word];
  return out;
}

double words_in_all(const std::vector<Sentence>& sentences) {
  std::size_t sum = 0;
  for (const Sentence& sentence : sentences) sum += sentence.size();
  return static_cast<double>(sum);
}

}  // namespace

RougeScore rouge_n(std::string_view predicted, std::string_view wanted, std::size_t n,
                   Stems stems) {
  const Sentence p = rouge_words(predicted, stems), w = rouge_words(wanted, stems);
  const auto runs = [n](const Sentence& words) {
    return words.size() < n ? 0.0 : static_cast<double>(words.size() - n + 1);
  };
  return rouge_score(static_cast<double>(shared(ngrams_of(p, n), ngrams_of(w, n))), runs(p),
                     runs(w));
}

RougeScore rouge_l(std::string_view predicted, std::string_view wanted, Stems stems) {
  const Sentence p = rouge_words(predicted, stems), w = rouge_words(wanted, stems);
  std::vector<bool> marks(p.size());
  mark_common(p, w, marks);
  return rouge_score(static_cast<double>(std::ranges::count(marks, true)),
                     static_cast<double>(p.size()), static_cast<double>(w.size()));
}

RougeScore rouge_l_sum(std::string_view predicted, std::string_view wanted, Stems stems) {
  const auto p = rouge_sentences(predicted, stems), w = rouge_sentences(wanted, stems);
  WordCounts left_p = counts_of(p), left_w = counts_of(w);
  double hits = 0;
  for (const Sentence& sentence : w) {
    std::vector<bool> marks(sentence.size(), false);
    for (const Sentence& other : p) mark_common(sentence, other, marks);
    for (std::size_t i = 0; i < sentence.size(); ++i) {
      if (!marks[i] || left_p[sentence[i]] == 0 || left_w[sentence[i]] == 0) continue;
      ++hits;
      --left_p[sentence[i]];
      --left_w[sentence[i]];
    }
  }
  return rouge_score(hits, words_in_all(p), words_in_all(w));
}

}  // namespace smelt::evaluation
