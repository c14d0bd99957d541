// Number of floating-point operations of a model, derived from its graph.
#pragma once

#include <span>

#include "model/tasks/task.h"

namespace smelt::model {

// Returns the FLOPs of the matmuls that `results` depend on. A multiplication and an addition count
// as two, and a matmul in a scan counts once per iteration. The graph must not contain a reverse
// pass.
double product_flops(std::span<const compiler::Tensor> results);

// Returns the FLOPs of a training step per example: three times the matmuls of the forward pass;
// matmuls of a frozen model (a teacher) count once. Rematerialization, lookups, norms, softmax and
// the optimizer are not counted, as usual for MFU. The FLOPs are those of a batch of `rows`
// examples divided by `rows`. For a task of packed_task(), `rows` must be
// PackingPlan::shard_size().
double training_flops(const Task& task, std::int64_t rows = 1);

}  // namespace smelt::model
