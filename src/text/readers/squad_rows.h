// Reader of SQuAD files (Rajpurkar et al. 2016 and 2018), versions 1.1 and 2.0: one JSON object,
// {"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers": [{"text",
// "answer_start"}]}]}]}]}.
#pragma once

#include "text/readers/rows.h"

namespace smelt::text {

// Returns a reader whose rows are questions with the fields title, context, id, question and
// answers (the array as JSON). Holds the whole file in memory. Throws UsageError if the file has
// another structure.
std::unique_ptr<RowReader> open_squad(const std::string& path, const std::vector<Field>& fields,
                                      FaultSink faults);

}  // namespace smelt::text
