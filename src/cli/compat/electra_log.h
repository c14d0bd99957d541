// The lines that the original ELECTRA's programs print, in their form.
#pragma once

#include <string>

#include "execution/inference/evaluate.h"
#include "train/trainer.h"

namespace smelt {

// "200/1000 = 20.0%, SPS: 3.1, ELAP: 1:04, ETA: 4:18 - loss: 41.2513". SPS: steps a second since
// the run was started or resumed.
std::string electra_log_line(const LogPoint& at);

// "name = value" lines by name: the original's ten and what disc_accuracy is to be compared with,
// as many as the objective has.
std::string electra_results(const Evaluation& evaluation);

}  // namespace smelt
