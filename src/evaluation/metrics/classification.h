// Scores of predicted classes against the right ones, as scikit-learn defines them. Predictions and
// references are class numbers below the number of classes and are equally many, at least one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smelt {

// A quotient by zero is 0. Support: how many there are to find.
struct PrecisionRecall {
  double precision = 0, recall = 0, f1 = 0;
  std::int64_t support = 0;
};

// How often each class was predicted, was wanted, and was both.
class ClassCounts {
 public:
  explicit ClassCounts(std::size_t classes)
      : right_(classes), predicted_(classes), wanted_(classes) {}
  // UsageError for a class that is not below `classes`, or lists of different lengths.
  ClassCounts(std::size_t classes, std::span<const std::size_t> predicted,
              std::span<const std::size_t> wanted);

  void add(std::size_t predicted, std::size_t wanted) {
    add(std::span(&predicted, 1), std::span(&wanted, 1));
  }
  // An example of several classes, or of none; both lists ascend.
  void add(std::span<const std::size_t> predicted, std::span<const std::size_t> wanted);
  std::size_t classes() const { return wanted_.size(); }
  std::int64_t right(std::size_t c) const { return right_[c]; }
  std::int64_t predicted(std::size_t c) const { return predicted_[c]; }
  std::int64_t wanted(std::size_t c) const { return wanted_[c]; }
  std::int64_t right() const { return all_right_; }  // examples of which all is right
  std::int64_t total() const { return total_; }      // examples
  // Sums over the examples of the precision, recall and F1 of each one's classes.
  const PrecisionRecall& sample_sums() const { return samples_; }

 private:
  std::vector<std::int64_t> right_, predicted_, wanted_;
  std::int64_t all_right_ = 0, total_ = 0;
  PrecisionRecall samples_;
};

PrecisionRecall precision_recall(std::int64_t right, std::int64_t predicted, std::int64_t wanted);
PrecisionRecall macro_average(std::span<const PrecisionRecall> classes);
PrecisionRecall weighted_average(std::span<const PrecisionRecall> classes);  // by support

double accuracy(const ClassCounts& counts);
std::vector<PrecisionRecall> by_class(const ClassCounts& counts);
PrecisionRecall micro_average(const ClassCounts& counts);
PrecisionRecall sample_average(const ClassCounts& counts);
// Matthews' correlation, of any number of classes (Gorodkin 2004); 0 where one side has one class.
// Examples without a predicted class count as predicted to be of one more.
double matthews(const ClassCounts& counts);

// What the examples of a report have: one class each, or any number of them.
enum class ReportOf { single_labels, lists };

// The text of sklearn.metrics.classification_report; `names` in the order to print, one a class.
// A class that is neither predicted nor wanted is left out.
std::string classification_report(const ClassCounts& counts, std::span<const std::string> names,
                                  int digits = 2, ReportOf of = ReportOf::single_labels);

}  // namespace smelt
