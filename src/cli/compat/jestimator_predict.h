// smelt jestimator in mode predict. The original's pre-training modules have none; here each
// example is scored as validation scores it.
#pragma once

#include "cli/compat/jestimator_setup.h"

namespace smelt {

// A line for each example, in the order of the data: number, mean negative log likelihood of its
// masked tokens, mean reciprocal rank; over 20 draws of masks. On one device.
void predict_jestimator(const JestimatorFlags& flags, const StartingPoint& start);

}  // namespace smelt
