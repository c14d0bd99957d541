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
  multi_label,   // any number of classes
  regression,    // a number
  token_labels,  // one of several classes for each word of a text
  answer_spans,  // the position of the answer to a question in a text
  rerank,        // the probability that a document is relevant to a query
};
inline constexpr NamedValues<Problem, 6> kProblems{{{"single_label", Problem::single_label},
                                                    {"multi_label", Problem::multi_label},
                                                    {"regression", Problem::regression},
                                                    {"token_labels", Problem::token_labels},
                                                    {"answer_spans", Problem::answer_spans},
                                                    {"rerank", Problem::rerank}}};
constexpr const NamedValues<Problem, 6>& words_of(Problem) { return kProblems; }

// Returns whether an empty label counts as a missing one. It is valid for multi_label, where it
// means no class, and for token_labels.
constexpr bool needs_label(Problem problem) {
  return problem == Problem::single_label || problem == Problem::regression ||
         problem == Problem::rerank;
}

// Returns whether a label is a number and the model has one output for each text.
constexpr bool is_number(Problem problem) {
  return problem == Problem::regression || problem == Problem::rerank;
}

// How a text is split into windows for a question, and the maximum length of an answer.
struct AnswerLimits {
  std::int64_t question_tokens = 64;  // maximum tokens of a question; the rest is truncated
  std::int64_t doc_stride = 128;      // tokens from the start of a window to the start of the next
  std::int64_t answer_tokens = 30;    // maximum tokens of an answer

  bool operator==(const AnswerLimits&) const = default;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, AnswerLimits>
void visit_fields(C& c, Visitor&& visit) {
  visit("question_tokens", c.question_tokens, "tokens that are kept of a question");
  visit("doc_stride", c.doc_stride, "tokens from the start of a window to the start of the next");
  visit("answer_tokens", c.answer_tokens, "tokens that an answer may have");
}

struct Labels {
  Problem problem = Problem::single_label;
  std::vector<std::string> names =
      {};                  // class names; empty for regression, answer_spans and rerank
  bool no_answer = false;  // answer_spans: a question may have no answer

  // Returns the number of outputs of the model per text, or per token if of_tokens().
  std::int64_t outputs() const {
    if (problem == Problem::answer_spans) return 2;
    return is_number(problem) ? 1 : static_cast<std::int64_t>(names.size());
  }
  bool has_classes() const { return !is_number(problem) && problem != Problem::answer_spans; }
  // Returns whether the model has outputs for each token instead of for the whole text.
  bool of_tokens() const {
    return problem == Problem::token_labels || problem == Problem::answer_spans;
  }
};

// Parses a list of class names: a JSON list, or names separated by commas. A name in `known` may
// contain commas. Removes white space around names and drops empty names.
std::vector<std::string> class_names_in(std::string_view text,
                                        std::span<const std::string> known = {});
// Returns the names separated by commas, or as a JSON list if class_names_in() would not parse that
// form to the same names.
std::string class_names_text(const std::vector<std::string>& names);

}  // namespace smelt::io
