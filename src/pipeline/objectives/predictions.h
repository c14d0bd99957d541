// Predictions that an evaluation has written for each row.
#pragma once

#include <string>

#include "evaluation/metrics/named.h"

namespace smelt::pipeline {

struct ReadPredictions {
  evaluation::JsonValues predictions, labels;
  bool of_words = false;  // whether each value is a list with a label for each word
};
// Reads the file RecipePaths::predictions. `field` is the name of the prediction
// (evaluation/metrics/named.h). Throws UsageError if a line lacks it or "label".
ReadPredictions read_predictions(const std::string& path, const std::string& field = "prediction");

}  // namespace smelt::pipeline
