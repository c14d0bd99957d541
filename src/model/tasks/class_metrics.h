// Classification and regression metrics computed from sums, which add up over batches and devices.
// I rows, C classes.
#pragma once

#include <span>

#include "compiler/ir/graph.h"

namespace smelt::model {

// Returns the counts that the following metrics need, f32 [3C]: for each class the number of
// correct predictions, of predictions, and of labels. `predicted` and `actual` are f32 [I,C] with
// values 0 and 1; `weights` is f32 [I].
compiler::Tensor class_counts(compiler::Tensor predicted, compiler::Tensor actual,
                              compiler::Tensor weights);
// Return metrics as scikit-learn defines them. macro_f1: the mean F1 over the classes that are
// predicted or occur as labels. f1_of_last: the F1 of the last class; 0 if it is never predicted
// and never a label. micro_f1: the F1 over all classes together. matthews: the correlation
// coefficient R_K (Gorodkin 2004), for data with one class per row.
double macro_f1(std::span<const double> counts);
double f1_of_last(std::span<const double> counts);
double micro_f1(std::span<const double> counts);
double matthews(std::span<const double> counts);

// Returns the weighted sums of 1, x, y, x², y² and xy, f32 [6], after subtracting `center` from x
// and y. Without it, squares of values far from 0 would lose their differences in f32. x, y and
// weights are f32 [I].
compiler::Tensor moments(compiler::Tensor x, compiler::Tensor y, compiler::Tensor weights,
                         double center);
// Returns Pearson's correlation from moments() with any center; 0 if x or y is constant.
double pearson(std::span<const double> moments);

}  // namespace smelt::model
