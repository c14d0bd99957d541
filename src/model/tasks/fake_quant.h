// A task that is learned as it will be computed in codes of eight bits (model/nn/fake_quant.h).
#pragma once

#include "model/tasks/task.h"

namespace smelt {

// What settings call it.
inline constexpr const char* kFakeQuant = "fake_quant";

// Its training and its evaluation; a run's settings say so.
Task fake_quantized(Task task);

}  // namespace smelt
