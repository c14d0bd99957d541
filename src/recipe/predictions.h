// What an evaluation of rows has said of each of them.
#pragma once

#include <string>

#include "metrics/named.h"

namespace smelt {

struct ReadPredictions {
  JsonValues said, is;
};
// Of RecipePaths's `predictions`. UsageError for a line without "prediction" and "label".
ReadPredictions read_predictions(const std::string& path);

}  // namespace smelt
