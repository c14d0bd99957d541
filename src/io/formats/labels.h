// Labels of text examples.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/choice.h"

namespace smelt::io {

enum class Problem {
  single_label,  // one of several classes
  multi_label,   // any number of them
  regression,    // a number
  token_labels,  // one of several classes for each word of a text
  answer_spans,  // where in a text the answer to a question begins and ends
};
inline constexpr NamedValues<Problem, 5> kProblems{{{"single_label", Problem::single_label},
                                                    {"multi_label", Problem::multi_label},
                                                    {"regression", Problem::regression},
                                                    {"token_labels", Problem::token_labels},
                                                    {"answer_spans", Problem::answer_spans}}};
constexpr const NamedValues<Problem, 5>& words_of(Problem) { return kProblems; }

// Returns whether an empty label is missing. It is valid for several labels (no class) and for
// words.
constexpr bool needs_label(Problem problem) {
  return problem == Problem::single_label || problem == Problem::regression;
}

// How a text is cut into windows for a question, and how long an answer may be.
struct AnswerLimits {
  std::int64_t question_tokens = 64;  // kept of a question
  std::int64_t doc_stride = 128;      // tokens from the first of a window to the first of the next
  std::int64_t answer_tokens = 30;    // of an answer, at most

  bool operator==(const AnswerLimits&) const = default;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, AnswerLimits>
void visit_fields(C& c, Visitor&& visit) {
  visit("question_tokens", c.question_tokens, "tokens that are kept of a question");
  visit("doc_stride", c.doc_stride, "tokens from the first of a window to the first of the next");
  visit("answer_tokens", c.answer_tokens, "tokens that an answer may have");
}

struct Labels {
  Problem problem = Problem::single_label;
  std::vector<std::string> names = {};  // of the classes; none of a regression or of answers
  bool no_answer = false;               // of answers: a question may have none

  // Numbers that a model gives for a text, or for a word or piece of it.
  std::int64_t outputs() const {
    if (problem == Problem::answer_spans) return 2;
    return problem == Problem::regression ? 1 : static_cast<std::int64_t>(names.size());
  }
  bool has_classes() const {
    return problem != Problem::regression && problem != Problem::answer_spans;
  }
  // Whether each token has numbers, and not the whole text.
  bool of_tokens() const {
    return problem == Problem::token_labels || problem == Problem::answer_spans;
  }
};

// Reads several names of classes: a JSON list, or names with commas between. A name of `known` that
// holds commas is one name. White space around names is left out, and so are empty ones.
std::vector<std::string> class_names_in(std::string_view text,
                                        std::span<const std::string> known = {});
// Returns the names with commas between, or as a JSON list if class_names_in() would read them
// otherwise.
std::string class_names_text(const std::vector<std::string>& names);

}  // namespace smelt::io
