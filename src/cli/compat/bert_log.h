// Log lines and result files in the format of the original BERT's run_pretraining.py.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/shape.h"
#include "execution/inference/evaluate.h"
#include "train/trainer.h"

namespace smelt::cli {

// Formats a number as numpy prints a float32: "0.0979674", "1.0", "3.45724e-05", "nan".
std::string numpy_text(float value);

// Formats a shape as a Python tuple: "(8, 128)", "(20,)".
std::string python_shape(const compiler::Dims& dims);

// Returns the Estimator's log lines of a step: rates, then the loss.
std::string bert_log_line(const train::LogPoint& at, std::int64_t batch_size);

// Returns the lines of eval_results.txt, "key = value", sorted by key.
std::vector<std::string> bert_results(const execution::Evaluation& evaluation);

}  // namespace smelt::cli
