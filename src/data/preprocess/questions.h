// Questions with their contexts and answers, as stored in rows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::data {

struct RightAnswer {
  std::string text;
  std::size_t begin = 0, end = 0;  // byte range in the context
  bool in_place = true;            // whether the context has the answer's text at this position
};

// Parses answers in the format of SQuAD, [{"text": "…", "answer_start": 12}], or of Hugging Face
// data sets, {"text": ["…"], "answer_start": [12]}. answer_start counts code points of the context.
// Throws UsageError, beginning with `place`, for any other format.
std::vector<RightAnswer> right_answers(const std::string& label, std::string_view context,
                                       const std::string& place);

}  // namespace smelt::data
