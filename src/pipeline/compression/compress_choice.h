// Rows whose score decides how a model is compressed.
#pragma once

#include <cstdint>
#include <string>

#include "compress/quantize.h"
#include "pipeline/compression/asked_rows.h"

namespace smelt::pipeline {

struct ChoiceRows {
  RowsToPredict rows = {};  // development rows, not test rows
  std::string metric = {};  // empty: the default of the problem
  std::int64_t batch_size = 32;
  std::string device = "cpu";
};

// Returns a limit: the metric may drop by at most `points`. A point is 1 for bleu and mse, and 0.01
// for all other metrics. If `forced` is set, the folder is written even if the drop
// exceeds the limit. The limit's score() returns the metric of rows 1, 3, 5, … as `choice` and the
// metric of rows 2, 4, 6, … as `unbiased`. It throws UsageError if there are fewer than two rows,
// or as ComparedModel does.
compress::DropLimit drop_limit(const ChoiceRows& rows, double points, bool forced);

}  // namespace smelt::pipeline
