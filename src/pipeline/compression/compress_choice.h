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

// Returns a limit of `points` on the drop of the metric. A point is 0.01 of a metric between 0 and
// 1, and 1 for bleu and mse. `forced`: write the folder even if the drop exceeds the limit. The
// limit's score() returns the metric of the rows 1, 3, 5, … as `choice` and that of the other rows
// as `unbiased`. score() throws UsageError if there are fewer than two rows, or as ComparedModel
// does.
compress::DropLimit drop_limit(const ChoiceRows& rows, double points, bool forced);

}  // namespace smelt::pipeline
