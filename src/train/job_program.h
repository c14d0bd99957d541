// The programs of a training job on its platform.
#pragma once

#include <string>
#include <string_view>

#include "train/bad_batch.h"
#include "train/trainer.h"

namespace smelt {

Compute compute_of(const TrainJob& job, std::string_view platform);

// train_program() or gradient_program(), as the job has it.
StepProgram program_of(const TrainJob& job, std::string_view platform,
                       decltype(&train_program) program);

// What a saved batch gives on the state before it. UsageError for a folder that holds none, or one
// of another model.
GradientReport replay(const TrainJob& job, const std::string& folder);

}  // namespace smelt
