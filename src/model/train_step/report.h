// The report of a program on a batch: single figures, such as the gradient norm, and the sum and
// the weight of each measure, which is a loss or a metric.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tasks/task.h"

namespace smelt::model {

// A loss or metric in a report.
struct ReportedMeasure {
  std::string name;
  std::size_t sums = 1;
  Finish finish = nullptr;
  double loss_factor = 0;  // factor in the total loss; 0: a metric
};

// The layout of the f32 vector that a program returns as its last result: the figures, then sums
// and weight of each measure.
struct ReportLayout {
  std::vector<std::string> figures;
  std::vector<ReportedMeasure> measures;
  std::size_t size() const;
};

// The value of a measure over several batches.
struct MeasuredValue {
  std::string name;
  double value = 0;   // sum / weight, or the result of the measure's `finish`; 0 if the weight is 0
  double weight = 0;  // number of items, such as masked tokens or sentences
};

// Sums of the reports of several batches.
class ReportSums {
 public:
  explicit ReportSums(ReportLayout layout);

  void add(std::span<const float> report);
  void clear();

  std::size_t batches() const { return batches_; }
  // Returns the mean over the batches. An unknown name is a bug.
  double figure(std::string_view name) const;
  std::vector<MeasuredValue> measures() const;
  // Returns the total loss over all items of all batches. Unlike the mean of the batch losses, it
  // does not depend on the batch size.
  double loss() const;

 private:
  ReportLayout layout_;
  std::vector<double> sums_;
  std::size_t batches_ = 0;
};

}  // namespace smelt::model
