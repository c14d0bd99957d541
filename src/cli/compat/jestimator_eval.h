// smelt jestimator in modes eval_once and eval_wait.
#pragma once

#include "cli/compat/jestimator_setup.h"

namespace smelt {

// Logs and prints the metrics of one checkpoint.
void evaluate_jestimator(const JestimatorFlags& flags, const StartingPoint& start);

// Evaluates the checkpoints in model_dir as they come, oldest first, to TensorBoard's scalars in
// <model_dir>/<eval_label>, and keeps those of the best scores there. The oldest of them, which may
// be removed at any time, is passed over, as in the original. Ends after one of --max_train_steps,
// or by a signal.
void follow_jestimator(const JestimatorFlags& flags);

}  // namespace smelt
