// Submission files for gluebenchmark.com: a TSV with an index and a prediction for each row of a
// task's test set.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Predicts the test set and writes MRPC.tsv (or that of another task; for MNLI MNLI-m.tsv,
// MNLI-mm.tsv and, if its folder has diagnostic.tsv, AX.tsv) into `folder`. The header is
// "index<tab>prediction"; each row has its number from 0 and its label (STS-B: a number from 0 to
// 5). Returns the paths. All files appear together. Throws UsageError if the recipe has no
// data.glue, the test set or a column is missing, or a file already exists; throws Stopped after a
// signal.
std::vector<std::string> write_glue_submission(const Recipe& recipe, const std::string& folder,
                                               std::int64_t batch_size, std::int64_t devices);

}  // namespace smelt::pipeline
