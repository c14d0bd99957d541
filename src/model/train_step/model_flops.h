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
// the optimizer are not counted, as usual for MFU. `rows` is the number of examples over which the
// FLOPs are counted, for a task whose batches must have a certain number (packed_task()).
double training_flops(const Task& task, std::int64_t rows = 1);

}  // namespace smelt::model
