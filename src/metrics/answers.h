// Answers in words against the right ones: SQuAD's exact match and F1 of words (Rajpurkar et al.
// 2018, evaluate-v2.0), ROUGE (Lin 2004) as rouge-score 0.1.2 computes it without a stemmer.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace smelt {

// Lower case, without ASCII punctuation, the words a, an and the; single spaces.
std::string squad_normalized(std::string_view text);

struct AnswerScore {
  double exact = 0, f1 = 0;  // in [0, 1]
};
// The best over the right answers. None, or none with a word: the right answer is the empty one.
AnswerScore squad_score(std::string_view predicted, std::span<const std::string> wanted);

struct RougeScore {
  double precision = 0, recall = 0, f1 = 0;
};
// Shared runs of n words, n >= 1.
RougeScore rouge_n(std::string_view predicted, std::string_view wanted, std::size_t n);
// Longest common subsequence of words.
RougeScore rouge_l(std::string_view predicted, std::string_view wanted);

}  // namespace smelt
