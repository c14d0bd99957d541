// Statistics of a fine-tuned model's predictions on held-out examples (predictions.jsonl): metrics
// with confidence intervals, calibration, and mistakes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "evaluation/metrics/named.h"
#include "evaluation/metrics/resample.h"

namespace smelt::evaluation {

struct NamedInterval {
  std::string metric;  // evaluation/metrics/named.h
  Interval score;
};

// Examples whose predicted class had a probability in [low, high).
struct CalibrationBin {
  double low = 0, high = 0;
  std::int64_t examples = 0;
  double mean = 0, right = 0;  // mean probability; share of correct predictions
};

// Confusion matrix of single-label classification.
struct ClassTable {
  std::vector<std::string> names;                 // sorted
  std::vector<std::vector<std::int64_t>> counts;  // [correct][predicted]
};

struct Mistake {
  double probability = 0;          // of the predicted class
  std::string said, wanted, text;  // predicted class, correct class, text of the example
};

struct PredictionFigures {
  std::int64_t examples = 0;
  std::vector<NamedInterval> scores;
  std::size_t classes = 0;                  // number of classes among predictions and references
  std::optional<ClassTable> table;          // if there are few enough classes
  std::vector<CalibrationBin> calibration;  // if rows have probabilities of classes
  double calibration_error = 0;   // expected calibration error: mean |right - mean| over examples
  std::vector<Mistake> mistakes;  // by descending probability, at most 20
};

// Computes the statistics of a file with rows {"text", "label", "prediction", …}. Returns nullopt
// if the file is missing or empty. The metrics depend on the type of labels and predictions:
// classes, numbers, labels of words, or texts. Throws UsageError for an invalid line.
std::optional<PredictionFigures> prediction_figures(const std::string& file);

}  // namespace smelt::evaluation
