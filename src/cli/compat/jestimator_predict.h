// smelt jestimator in mode predict. The original's pre-training modules have no such mode; here
// each example is scored as in validation.
#pragma once

#include "cli/compat/jestimator_setup.h"

namespace smelt::cli {

// Writes one line per example, in the order of the data: its number, and the mean negative log
// likelihood and mean reciprocal rank of its masked tokens over 20 random masks. Uses one device.
void predict_jestimator(const JestimatorFlags& flags, const StartingPoint& start);

}  // namespace smelt::cli
