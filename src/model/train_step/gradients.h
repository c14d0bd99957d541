// The gradient of a task over the rows that one program sees, whole or in micro-batches, and the
// figures that come with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/nn/scope.h"
#include "model/tasks/task.h"
#include "model/train_step/report.h"
#include "model/train_step/sharding_plan.h"

namespace smelt {

// An f32 vector of the elements of scalars and vectors.
Tensor vector_of(const std::vector<Tensor>& tensors);
// Such a vector cut into tensors of the shapes of `like`.
std::vector<Tensor> split_like(Tensor vector, const std::vector<Tensor>& like);

// The measures of an objective, losses first, over one program's rows.
struct Measures {
  Measures(const Objective& objective, const ShardingPlan& placement);

  // Each loss's sum -> the loss, with weights of the whole batch; alone: of this program's rows.
  Tensor loss(const std::vector<Tensor>& sums, Reduction reduction) const;
  // The sums of totals().
  std::vector<Tensor> sums_in(Tensor totals) const;
  // An f32 vector: sum, weight, sum, weight, … of the whole batch, from this program's sums.
  Tensor totals(const std::vector<Tensor>& sums, const ShardingPlan& placement) const;

  std::vector<Metric> all;
  std::size_t losses = 0;
  std::vector<ReportedMeasure> reported;
  std::vector<Tensor> sums;           // of this program's rows
  std::vector<Tensor> total_weights;  // of the whole batch
};

struct GradientJob {
  const Task& task;
  const std::vector<Tensor>& batch;  // in the features' order
  const Scope& root;                 // the objective's, of the whole program
  const Measures& measures;
  const std::vector<Tensor>& wrt;
  std::int64_t micro_batches = 1;  // divides the rows
  Reduction reduction = Reduction::global;
};

struct Gradients {
  std::vector<Tensor> of_parameters;
  std::vector<Tensor> sums;  // of the measures, over this program's rows
};

// Gradients of this program's share of the loss. Micro-batch m of M takes the rows r with r mod M =
// m, one after another in a loop; gradients and sums add up to those of all rows at once. Over a
// mesh of data alone each device has a loop of its own, and gradients are summed once, after it.
Gradients gradients_of(const GradientJob& job);

}  // namespace smelt
