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

// Returns the limit on the drop of the score, in points. Choices use the rows 1, 3, 5, …; the
// reported score uses the others. A point is a hundredth of a metric between 0 and 1, and 1 for
// bleu and mse. Throws UsageError if there are fewer than two rows, and as ComparedModel does.
compress::DropLimit drop_limit(const ChoiceRows& rows, double points, bool forced);

}  // namespace smelt::pipeline
