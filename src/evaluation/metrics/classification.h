// Classification metrics as scikit-learn defines them. Predictions and references are class indices
// below the number of classes. Both lists have the same length, at least one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smelt::evaluation {

// Precision, recall and F1; a quotient by zero is 0. `support` is the number of reference items.
struct PrecisionRecall {
  double precision = 0, recall = 0, f1 = 0;
  std::int64_t support = 0;
};

// Numbers of predictions, references and correct predictions for each class.
class ClassCounts {
 public:
  explicit ClassCounts(std::size_t classes)
      : right_(classes), predicted_(classes), wanted_(classes) {}
  // Counts the examples. Throws UsageError for a class index that is not below `classes`, or for
  // lists of different lengths.
  ClassCounts(std::size_t classes, std::span<const std::size_t> predicted,
              std::span<const std::size_t> wanted);

  void add(std::size_t predicted, std::size_t wanted) {
    add(std::span(&predicted, 1), std::span(&wanted, 1));
  }
  // Adds an example with any number of classes. Both lists must be in ascending order.
  void add(std::span<const std::size_t> predicted, std::span<const std::size_t> wanted);
  std::size_t classes() const { return wanted_.size(); }
  std::int64_t right(std::size_t c) const { return right_[c]; }
  std::int64_t predicted(std::size_t c) const { return predicted_[c]; }
  std::int64_t wanted(std::size_t c) const { return wanted_[c]; }
  std::int64_t right() const { return all_right_; }  // examples with exactly the correct classes
  std::int64_t total() const { return total_; }      // examples
  // Returns the sums over the examples of precision, recall and F1 of each example's classes.
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
// Returns Matthews' correlation coefficient for any number of classes (Gorodkin 2004), or 0 if all
// predictions or all references are the same class. "No predicted class" counts as an additional
// predicted class.
double matthews(const ClassCounts& counts);

// Whether each example of a report has exactly one class, or any number of them.
enum class ReportOf { single_labels, lists };

// Returns the text of sklearn.metrics.classification_report. `names` are the class names. A class
// that is neither predicted nor among the references is omitted.
std::string classification_report(const ClassCounts& counts, std::span<const std::string> names,
                                  int digits = 2, ReportOf of = ReportOf::single_labels);

}  // namespace smelt::evaluation
