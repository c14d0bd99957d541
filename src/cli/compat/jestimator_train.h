// smelt jestimator in mode train.
#pragma once

#include "cli/compat/jestimator_setup.h"

namespace smelt::cli {

// To --max_train_steps or the end of --train_epochs, with a check every --check_every_steps:
// validation, TensorBoard's scalars in <model_dir>/train, a checkpoint.
void train_jestimator(const JestimatorFlags& flags, const StartingPoint& start);

}  // namespace smelt::cli
