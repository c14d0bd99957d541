// TensorBoard's event files, docs/reference/formats/event_file.md: TFRecords of Event messages.
// Works on bytes and does not access files. Times are seconds since 1970.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace smelt::io {

struct Scalar {
  std::string tag;  // "train/valid_loss"
  float value = 0;
};

struct Histogram {
  double min = 0, max = 0, count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits, counts;  // upper bounds of the buckets, and number of values in each
};
// Returns a histogram with TensorFlow's buckets, which grow by a tenth from 1e-12. Adjacent empty
// buckets are merged, and empty buckets at both ends are left out. NaN values are ignored.
Histogram histogram_of(std::span<const float> values);

struct NamedHistogram {
  std::string tag;  // "weights/bert/pooler/dense/kernel"
  Histogram histogram;
};

struct NamedText {
  std::string tag, text;  // Markdown
};

// Appends the record that begins every event file.
void append_event_version(std::string& out, double wall_time);

// Appends the start of a run, new or resumed. Readers discard earlier events of `step` and later
// steps.
void append_run_start(std::string& out, double wall_time, std::int64_t step);

// Appends all scalars of one step as one record.
void append_scalars(std::string& out, double wall_time, std::int64_t step,
                    std::span<const Scalar> scalars);

// Append all histograms, or all texts, of one step as one record.
void append_histograms(std::string& out, double wall_time, std::int64_t step,
                       std::span<const NamedHistogram> histograms);
void append_texts(std::string& out, double wall_time, std::int64_t step,
                  std::span<const NamedText> texts);

// Appends the run's hyperparameters: numbers, booleans and texts by name.
void append_hyperparameters(std::string& out, double wall_time, const Json& settings);

}  // namespace smelt::io
