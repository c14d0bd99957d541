// A task trained with fake int8 quantization (model/nn/fake_quant.h).
#pragma once

#include "model/tasks/task.h"

namespace smelt::model {

// The name of the setting in a run's settings.
inline constexpr const char* kFakeQuant = "fake_quant";

// Returns the task with fake quantization in training and evaluation; its settings record it.
Task fake_quantized(Task task);

}  // namespace smelt::model
