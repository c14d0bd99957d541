// Where a fine-tuned model sees the answers to questions on texts. A text that is too long for the
// model is read in windows, and its best answer over all of them is taken, as google-research/bert
// run_squad.py, write_predictions, does; here the best is exact, there one of the 20 best first and
// last tokens.
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

namespace smelt {

struct TextQuestion {
  std::string id = {}, question, context;
  std::optional<std::vector<std::string>> answers = {};  // that are right, where they are known
};

struct FoundAnswer {
  std::string text;                // empty: none
  std::string best;                // the best span, even if `text` is empty; empty: no tokens
  std::size_t begin = 0, end = 0;  // its bytes in the context
  double probability = 0;          // of `text`: softmax over the 20 best and, if allowed, no answer
  double no_answer = 0;            // logit of "no answer" minus that of the best span
};

// In the order of the questions. The classifier is one of answers; where its labels say no_answer a
// question may have none.
std::vector<FoundAnswer> find_answers(Classifier& classifier,
                                      std::span<const TextQuestion> questions);

// {"id", "question", "context", "label": [right answers], "prediction", "probability", "begin",
// "end" (characters, of the best answer)}; if there may be none also "best", the best answer, which
// is the prediction unless that is none, and "no_answer". Without an id or a label where there is
// none.
OrderedJson answer_json(const TextQuestion& question, const FoundAnswer& found, bool may_have_none);

}  // namespace smelt
