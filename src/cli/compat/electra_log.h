// Log lines in the format of the original ELECTRA's programs.
#pragma once

#include <string>

#include "execution/inference/evaluate.h"
#include "train/trainer.h"

namespace smelt::cli {

// Returns "200/1000 = 20.0%, SPS: 3.1, ELAP: 1:04, ETA: 4:18 - loss: 41.2513". SPS is steps per
// second since the run was started or resumed.
std::string electra_log_line(const train::LogPoint& at);

// Returns "name = value" lines sorted by name: those of the original's ten metrics that the
// objective has, and the baseline for disc_accuracy.
std::string electra_results(const execution::Evaluation& evaluation);

}  // namespace smelt::cli
