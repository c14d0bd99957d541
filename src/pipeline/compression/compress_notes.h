// Notes in the report of compressed models: their disadvantages, and what was not measured.
#pragma once

#include "base/json.h"

namespace smelt::pipeline {

// Adds "not_given" (sentences) to each model and "not_measured" to the report. Adds "beaten":
// {"bytes": …, "latency": …} to a model if another one has at least the same score and is at least
// as small, or as fast, and is better in one of the two.
void add_compress_notes(OrderedJson& report);

}  // namespace smelt::pipeline
