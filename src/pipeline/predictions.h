// What an evaluation of rows has said of each of them.
#pragma once

#include <string>

#include "evaluation/metrics/named.h"

namespace smelt {

struct ReadPredictions {
  JsonValues said, is;
  bool of_words = false;  // lists of labels of words (metric_of_words())
};
// Of RecipePaths's `predictions`; `field` is what is scored (evaluation/metrics/named.h).
// UsageError for a line without it or "label".
ReadPredictions read_predictions(const std::string& path, const std::string& field = "prediction");

}  // namespace smelt
