// Answers in words against the right ones: SQuAD's exact match and F1 of words (Rajpurkar et al.
// 2018, evaluate-v2.0).
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

}  // namespace smelt
