// Notes in the report of compressed models: their disadvantages, and what was not measured.
#pragma once

#include "base/json.h"

namespace smelt::pipeline {

// Adds two fields to each model: "not_given", a list of sentences about its disadvantages, and
// "beaten", {"bytes": bool, "latency": bool}, which is true if another model has at least the same
// score, is at least as small (or as fast), and is better in one of the two. Adds "not_measured", a
// list of sentences, to the report.
void add_compress_notes(OrderedJson& report);

}  // namespace smelt::pipeline
