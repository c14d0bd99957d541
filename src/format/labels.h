// What examples of texts are labelled with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/choice.h"

namespace smelt {

enum class Problem {
  single_label,  // one of several classes
  multi_label,   // any number of them
  regression,    // a number
  token_labels,  // one of several classes for each word of a text
};
inline constexpr NamedValues<Problem, 4> kProblems{{{"single_label", Problem::single_label},
                                                    {"multi_label", Problem::multi_label},
                                                    {"regression", Problem::regression},
                                                    {"token_labels", Problem::token_labels}}};
constexpr const NamedValues<Problem, 4>& words_of(Problem) { return kProblems; }

struct Labels {
  Problem problem = Problem::single_label;
  std::vector<std::string> names;  // of the classes; none of a regression

  // Numbers that a model gives for a text, or for a word of it.
  std::int64_t outputs() const {
    return problem == Problem::regression ? 1 : static_cast<std::int64_t>(names.size());
  }
};

}  // namespace smelt
