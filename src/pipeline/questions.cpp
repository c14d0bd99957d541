#include "pipeline/questions.h"

#include "base/error.h"

namespace smelt {

void throw_no_answer(const QuestionWords& words, const std::string& type) {
  throw UsageError(str(words.command, ": a model of type ", type, " ", words.lacks),
                   std::string(words.hint));
}

}  // namespace smelt
