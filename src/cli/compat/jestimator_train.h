// smelt jestimator in mode train.
#pragma once

#include "cli/compat/jestimator_setup.h"

namespace smelt::cli {

// Trains to --max_train_steps or the end of --train_epochs. Every --check_every_steps, validates,
// writes TensorBoard scalars to <model_dir>/train and saves a checkpoint.
void train_jestimator(const JestimatorFlags& flags, const StartingPoint& start);

}  // namespace smelt::cli
