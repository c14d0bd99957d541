// Questions, the texts that answer them and the right answers, as rows have them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

struct RightAnswer {
  std::string text;
  std::size_t begin = 0, end = 0;  // its bytes in the context
  bool in_place = true;            // whether it stands there
};

// As SQuAD's files have them, [{"text": "…", "answer_start": 12}], or transformers' data sets,
// {"text": ["…"], "answer_start": [12]}: begins count code points of the context. UsageError, which
// `place` begins, for any other form.
std::vector<RightAnswer> right_answers(const std::string& label, std::string_view context,
                                       const std::string& place);

}  // namespace smelt
