// What a fine-tuned model said of held-out examples, as its evaluation wrote it
// (predictions.jsonl): figures with their intervals, and where it is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "evaluation/metrics/named.h"
#include "evaluation/metrics/resample.h"

namespace smelt {

struct NamedInterval {
  std::string metric;  // evaluation/metrics/named.h
  Interval score;
};

// Examples whose most likely class had a probability in [low, high), of which `right` are right.
struct CalibrationBin {
  double low = 0, high = 0;
  std::int64_t examples = 0;
  double mean = 0, right = 0;  // shares
};

// Of single classes: how often one was said where another was right.
struct ClassTable {
  std::vector<std::string> names;                 // sorted
  std::vector<std::vector<std::int64_t>> counts;  // [right][said]
};

struct Mistake {
  double probability = 0;  // of what was said
  std::string said, wanted, text;
};

struct PredictionFigures {
  std::int64_t examples = 0;
  std::vector<NamedInterval> scores;
  std::size_t classes = 0;                  // that were said or right
  std::optional<ClassTable> table;          // of few enough
  std::vector<CalibrationBin> calibration;  // where rows have probabilities of classes
  double calibration_error = 0;             // expected: mean |right - mean| over examples
  std::vector<Mistake> mistakes;            // the surest first, at most 20
};

// Of a file's rows {"text", "label", "prediction", …}; nothing where it is not there or holds none.
// Which metrics: by what labels and predictions are, classes, numbers, labels of words, or texts.
// UsageError for a line that is no such row.
std::optional<PredictionFigures> prediction_figures(const std::string& file);

}  // namespace smelt
