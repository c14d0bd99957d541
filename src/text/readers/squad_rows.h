// Questions on texts as SQuAD's files hold them (Rajpurkar et al. 2016 and 2018), versions 1.1 and
// 2.0: one JSON object, {"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question",
// "answers": [{"text", "answer_start"}]}]}]}]}.
#pragma once

#include "text/readers/rows.h"

namespace smelt {

// A question is a row with the fields title, context, id, question and answers, which are that
// array as JSON. The whole file is in memory. UsageError for a file of another form.
std::unique_ptr<RowReader> open_squad(const std::string& path, const std::vector<Field>& fields,
                                      FaultSink faults);

}  // namespace smelt
