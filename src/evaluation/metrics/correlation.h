// Metrics of predicted numbers and scores. Both lists have the same length. The result is NaN if
// the metric is undefined: with equal values only, fewer than two values, or one class only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace smelt::evaluation {

double pearson(std::span<const double> predicted, std::span<const double> wanted);
// Returns Pearson's correlation of the ranks; equal values share their mean rank.
double spearman(std::span<const double> predicted, std::span<const double> wanted);
// Returns the area under the ROC curve: the probability that a positive example has a higher score
// than a negative one; ties count half. `wanted` above 0.5 is positive.
double roc_auc(std::span<const double> scores, std::span<const double> wanted);
// Returns the mean of the ROC AUC of each class against the rest (scikit-learn's
// multi_class="ovr"). scores[c][i] is the score of class c for example i; `wanted` are the
// examples' classes. If `is_weighted`, weights each class by its number of references, and omits
// classes without any.
double roc_auc_of_classes(std::span<const std::vector<double>> scores,
                          std::span<const std::size_t> wanted, bool is_weighted);
// Returns the average precision (scikit-learn's average_precision_score): the mean, over the
// positive examples, of the precision at the threshold of their score. An example is positive if
// `wanted` is at least 0.5. Returns NaN if no example is positive.
double average_precision_score(std::span<const double> scores, std::span<const double> wanted);
double mean_squared_error(std::span<const double> predicted, std::span<const double> wanted);

}  // namespace smelt::evaluation
