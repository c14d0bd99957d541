// ROUGE (Lin 2004) as rouge-score 0.1.2 computes it. Words are runs of a-z and 0-9 in the
// lower-cased text.
#pragma once

#include <cstddef>
#include <string_view>

namespace smelt::evaluation {

struct RougeScore {
  double precision = 0, recall = 0, f1 = 0;
};

enum class Stems {
  none,
  porter,  // stems words of more than three letters (evaluation/metrics/porter.h)
};

// Returns the overlap of n-grams, n >= 1.
RougeScore rouge_n(std::string_view predicted, std::string_view wanted, std::size_t n,
                   Stems stems = Stems::none);
// Returns the score of the longest common subsequence of words.
RougeScore rouge_l(std::string_view predicted, std::string_view wanted, Stems stems = Stems::none);
// Returns the summary-level score. Each line is a sentence. Counts the words of a reference line
// that are in its longest common subsequence with at least one predicted line. A word counts at
// most as often as it occurs in each of the two texts.
RougeScore rouge_l_sum(std::string_view predicted, std::string_view wanted,
                       Stems stems = Stems::none);

}  // namespace smelt::evaluation
