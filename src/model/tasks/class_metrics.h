// Metrics of classes and numbers that are no quotient of two sums, from sums that add up over
// batches and devices. I rows, C classes.
#pragma once

#include <span>

#include "compiler/ir/graph.h"

namespace smelt {

// What all that follows is made of, f32 [3C]: of each class how often it was said rightly, how
// often it was said, how often it is so. `said` and `is` f32 [I,C] of 0 and 1, weights f32 [I].
Tensor class_counts(Tensor said, Tensor is, Tensor weights);
// As scikit-learn has them: the mean over classes that are said or so (an F1 without either is 0),
// that of the last class, that of all together, and R_K (Gorodkin 2004) of one class a row.
double macro_f1(std::span<const double> counts);
double f1_of_last(std::span<const double> counts);
double micro_f1(std::span<const double> counts);
double matthews(std::span<const double> counts);

// The sums of 1, x, y, x², y², xy, f32 [6], of both less `center`: squares of numbers far from 0
// would leave f32 nothing of how they differ. x, y, weights f32 [I].
Tensor moments(Tensor x, Tensor y, Tensor weights, double center);
// Pearson's correlation of them, which no center changes; 0 where either is constant.
double pearson(std::span<const double> moments);

}  // namespace smelt
