// smelt jestimator in the modes eval_once and eval_wait.
#pragma once

#include "cli/compat/jestimator_setup.h"

namespace smelt::cli {

// Logs and prints the metrics of one checkpoint.
void evaluate_jestimator(const JestimatorFlags& flags, const StartingPoint& start);

// Evaluates each new checkpoint in model_dir, oldest first, writes TensorBoard scalars to
// <model_dir>/<eval_label>, and keeps the checkpoints with the best scores there. Skips the oldest
// checkpoint, as the original does, because the training may delete it at any time. Ends after the
// checkpoint of --max_train_steps, or by a signal.
void follow_jestimator(const JestimatorFlags& flags);

}  // namespace smelt::cli
