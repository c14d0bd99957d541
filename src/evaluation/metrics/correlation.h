// Scores of predicted numbers. Both lists have the same length. Where a score is undefined (all
// values of a side equal, fewer than two, one class only), it is not a number.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace smelt {

double pearson(std::span<const double> predicted, std::span<const double> wanted);
// Pearson's of the ranks; equal values share their mean rank.
double spearman(std::span<const double> predicted, std::span<const double> wanted);
// The area under the ROC curve: how often a positive one scores above a negative one, ties half.
// wanted: above 0.5 is positive.
double roc_auc(std::span<const double> scores, std::span<const double> wanted);
// The mean of that of each class against the rest (scikit-learn's
// multi_class="ovr"). scores[c][i]: of class c for example i; wanted: the examples'
// classes. Weighted: by how often each class is wanted, those that never are left out.
double roc_auc_of_classes(std::span<const std::vector<double>> scores,
                          std::span<const std::size_t> wanted, bool is_weighted);
double mean_squared_error(std::span<const double> predicted, std::span<const double> wanted);

}  // namespace smelt
