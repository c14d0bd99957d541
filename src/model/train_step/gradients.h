// Gradients and metrics of a task over the rows of one program, in one pass or in micro-batches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/nn/scope.h"
#include "model/tasks/task.h"
#include "model/train_step/report.h"
#include "model/train_step/sharding_plan.h"

namespace smelt::model {

// Concatenates the elements of scalars and vectors into one f32 vector.
compiler::Tensor vector_of(const std::vector<compiler::Tensor>& tensors);
// Inverts vector_of(): splits a vector into tensors with the shapes of `like`.
std::vector<compiler::Tensor> split_like(compiler::Tensor vector,
                                         const std::vector<compiler::Tensor>& like);

// The losses and metrics of an objective over one program's rows; losses come first.
struct Measures {
  Measures(const Objective& objective, const ShardingPlan& placement);

  // Computes the loss from the sums of the losses. Normalizes by the weights of the whole batch, or
  // of this program's rows with Reduction::per_replica.
  compiler::Tensor loss(const std::vector<compiler::Tensor>& sums, Reduction reduction) const;
  // Returns the sums that are contained in `totals`, a result of totals().
  std::vector<compiler::Tensor> sums_in(compiler::Tensor totals) const;
  // Returns an f32 vector with sum, weight, sum, weight, … over the whole batch, from this
  // program's sums.
  compiler::Tensor totals(const std::vector<compiler::Tensor>& sums,
                          const ShardingPlan& placement) const;

  std::vector<Metric> all;
  std::size_t losses = 0;
  std::vector<ReportedMeasure> reported;
  std::vector<compiler::Tensor> sums;           // over this program's rows
  std::vector<compiler::Tensor> total_weights;  // over the whole batch
};

// The inputs of gradients_of().
struct GradientJob {
  const Task& task;
  const std::vector<compiler::Tensor>& batch;  // in the order of the features
  const Scope& root;                           // scope of the whole program
  const Measures& measures;
  const std::vector<compiler::Tensor>& wrt;
  std::int64_t micro_batches = 1;  // must divide the rows
  Reduction reduction = Reduction::global;
};

// The results of gradients_of().
struct Gradients {
  std::vector<compiler::Tensor> of_parameters;
  std::vector<compiler::Tensor> sums;  // of each loss and metric, over this program's rows
};

// Returns the gradients of this program's share of the loss. Micro-batch m of M contains the rows r
// with r mod M = m; micro-batches run in a loop, and gradients and sums are added up. On a mesh
// with a data axis each shard has a separate loop, and gradients are summed once after it.
Gradients gradients_of(const GradientJob& job);

}  // namespace smelt::model
