// What a report of compressed models says in words: of each row what it does not give, and of all
// what was not measured.
#pragma once

#include "base/json.h"

namespace smelt {

// Adds "not_given" (sentences) to each model and "not_measured" to the report, and "beaten" where
// another row is at least as right and as small, or as fast, and better in one of the two:
// {"bytes": …, "latency": …}.
void add_compress_notes(OrderedJson& report);

}  // namespace smelt
