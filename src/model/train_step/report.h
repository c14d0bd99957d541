// What a program says of a batch: single figures, and the sum and weight of each measure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tasks/task.h"

namespace smelt {

struct ReportedMeasure {
  std::string name;
  std::size_t sums = 1;
  Finish finish = nullptr;
  double loss_factor = 0;  // in the sum of losses; 0: a metric
};

// What stands in the f32 vector that a program returns last: the figures, then the sums and the
// weight of each measure.
struct ReportLayout {
  std::vector<std::string> figures;
  std::vector<ReportedMeasure> measures;
  std::size_t size() const;
};

struct MeasuredValue {
  std::string name;
  double value = 0;   // of all that was added: sum / weight, or what the measure makes of its sums;
                      // 0 where the weight is
  double weight = 0;  // items counted: masked tokens, sentences …
};

// Reports of several batches, added up.
class ReportSums {
 public:
  explicit ReportSums(ReportLayout layout);

  void add(std::span<const float> report);
  void clear();

  std::size_t batches() const { return batches_; }
  // The mean over the batches. A name that is no figure is a bug.
  double figure(std::string_view name) const;
  std::vector<MeasuredValue> measures() const;
  // The losses over all items of all batches, times their factors. Unlike the mean of the batches'
  // losses it does not depend on the batch size.
  double loss() const;

 private:
  ReportLayout layout_;
  std::vector<double> sums_;
  std::size_t batches_ = 0;
};

}  // namespace smelt
