// What gluebenchmark.com takes of a task: a TSV of a number and a prediction for each row of its
// test files.
#pragma once

#include <string>
#include <vector>

#include "pipeline/recipe.h"

namespace smelt {

// Writes MRPC.tsv (of MNLI MNLI-m.tsv, MNLI-mm.tsv and, where its folder has diagnostic.tsv,
// AX.tsv) into `folder`: "index<tab>prediction", then for each row of the test its number from 0
// and its label, or of STS-B a number from 0 to 5. The paths. UsageError for a recipe without
// data.glue, a test that is not there, a row without its columns, and a file that is there already;
// Stopped by a signal. Files appear together.
std::vector<std::string> write_glue_submission(const Recipe& recipe, const std::string& folder,
                                               std::int64_t batch_size, std::int64_t devices);

}  // namespace smelt
