// ROUGE (Lin 2004) as rouge-score 0.1.2 computes it: words are runs of a-z and 0-9 of the text in
// lower case.
#pragma once

#include <cstddef>
#include <string_view>

namespace smelt {

struct RougeScore {
  double precision = 0, recall = 0, f1 = 0;
};

enum class Stems {
  none,
  porter,  // words of more than three letters by their stems (evaluation/metrics/porter.h)
};

// Shared runs of n words, n >= 1.
RougeScore rouge_n(std::string_view predicted, std::string_view wanted, std::size_t n,
                   Stems stems = Stems::none);
// Longest common subsequence of words.
RougeScore rouge_l(std::string_view predicted, std::string_view wanted, Stems stems = Stems::none);
// Of lines, which are sentences: words of each wanted line that are in its longest common
// subsequence with any predicted line; each counts as often as both texts have it.
RougeScore rouge_l_sum(std::string_view predicted, std::string_view wanted,
                       Stems stems = Stems::none);

}  // namespace smelt
