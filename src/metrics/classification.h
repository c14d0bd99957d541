// Scores of predicted classes against the right ones, as scikit-learn defines them. Predictions and
// references are class numbers below the number of classes and are equally many, at least one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smelt {

// How often class `wanted` was predicted as `given`.
class Confusion {
 public:
  explicit Confusion(std::size_t classes) : classes_(classes), counts_(classes * classes) {}
  // UsageError for a class that is not below `classes`, or lists of different lengths.
  Confusion(std::size_t classes, std::span<const std::size_t> predicted,
            std::span<const std::size_t> wanted);

  void add(std::size_t predicted, std::size_t wanted) { ++counts_[wanted * classes_ + predicted]; }
  std::size_t classes() const { return classes_; }
  std::int64_t count(std::size_t wanted, std::size_t predicted) const {
    return counts_[wanted * classes_ + predicted];
  }
  std::int64_t wanted(std::size_t c) const;
  std::int64_t predicted(std::size_t c) const;
  std::int64_t right() const;
  std::int64_t total() const;

 private:
  std::size_t classes_;
  std::vector<std::int64_t> counts_;  // [wanted, predicted]
};

// A quotient by zero is 0. Support: how many there are to find.
struct PrecisionRecall {
  double precision = 0, recall = 0, f1 = 0;
  std::int64_t support = 0;
};
PrecisionRecall precision_recall(std::int64_t right, std::int64_t predicted, std::int64_t wanted);
PrecisionRecall macro_average(std::span<const PrecisionRecall> classes);
PrecisionRecall weighted_average(std::span<const PrecisionRecall> classes);  // by support

double accuracy(const Confusion& confusion);
std::vector<PrecisionRecall> by_class(const Confusion& confusion);
PrecisionRecall micro_average(const Confusion& confusion);
// Matthews' correlation, of any number of classes (Gorodkin 2004); 0 where one side has one class.
double matthews(const Confusion& confusion);

// The text of sklearn.metrics.classification_report; `names` in the order to print, one a class.
// A class that is neither predicted nor wanted is left out.
std::string classification_report(const Confusion& confusion, std::span<const std::string> names,
                                  int digits = 2);

}  // namespace smelt
