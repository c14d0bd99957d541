// Exact match and token F1 of predicted answers, as SQuAD defines them (Rajpurkar et al. 2018,
// evaluate-v2.0).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace smelt::evaluation {

// Normalizes an answer: lower case, no ASCII punctuation, no articles (a, an, the), single spaces.
std::string squad_normalized(std::string_view text);

struct AnswerScore {
  double exact = 0, f1 = 0;  // in [0, 1]
};
// Returns the best score over the correct answers. Ignores correct answers that normalize to an
// empty text. If no correct answer is left, the prediction must be empty too.
AnswerScore squad_score(std::string_view predicted, std::span<const std::string> wanted);

}  // namespace smelt::evaluation
