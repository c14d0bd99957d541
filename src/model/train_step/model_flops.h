// How much a model computes, by its graph.
#pragma once

#include <span>

#include "model/tasks/task.h"

namespace smelt {

// Operations of the matrix products that these need, a multiplication and an addition each; those
// of a scan as often as it runs. Graphs of a reverse pass are not for this.
double product_flops(std::span<const Tensor> results);

// Operations of one example's training step: thrice the products of its forward pass, those of
// what is held as it is given (a teacher) once, nothing that is computed again. Lookups, norms,
// softmax and the optimizer do not count, as usual for MFU.
double training_flops(const Task& task);

}  // namespace smelt
