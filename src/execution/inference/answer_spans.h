// Extractive question answering with a fine-tuned model. A text that is too long for the model is
// split into overlapping windows, and the best answer over all windows is returned. The rules are
// those of google-research/bert run_squad.py, write_predictions, except that every span is scored
// here; the original combines only the 20 best first and last tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "execution/inference/classify.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::execution {

struct TextQuestion {
  std::string id = {}, question, context;
  std::optional<std::vector<std::string>> answers = {};  // correct answers, if known
};

struct FoundAnswer {
  std::string text;  // empty: predicts "no answer"
  std::string best;  // best span, even if `text` is empty; empty only if the context has no tokens
  std::size_t begin = 0, end = 0;  // byte range of `best` in the context
  // probability of `text`: softmax over the 20 best spans and, if allowed, no answer
  double probability = 0;
  double no_answer = 0;  // logit of "no answer" minus that of the best span
};

// Returns the answers in the order of the questions. The classifier must be a model for the problem
// answer_spans. Predicts "no answer" only if the model's labels have no_answer.
std::vector<FoundAnswer> find_answers(Classifier& classifier,
                                      std::span<const TextQuestion> questions);

// Returns {"id", "question", "context", "label": [correct answers], "prediction", "probability",
// "begin", "end"}. "begin" and "end" are character positions of the best span. If `may_have_none`,
// adds "no_answer" and "best" (the best span, even if "prediction" is empty). Omits "id" and
// "label" if the question has none.
OrderedJson answer_json(const TextQuestion& question, const FoundAnswer& found, bool may_have_none);

}  // namespace smelt::execution
