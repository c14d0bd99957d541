// The programs of a training job on its platform.
#pragma once

#include <string>
#include <string_view>

#include "train/bad_batch.h"
#include "train/trainer.h"

namespace smelt {

// As compute_for() chooses, but on a TPU a long run's layers are unrolled where nothing else is
// said and no axis of the mesh splits parameters: its steps are faster and hold less than a loop
// that saves products. By the run's whole length, so that what is resumed has the form it began
// with.
ComputePolicy compute_of(const TrainJob& job, std::string_view platform);
// What it chose, and why, for the log; empty where there was nothing to choose.
std::string form_text(const TrainJob& job, std::string_view platform);

// train_program() or gradient_program(), as the job has it.
StepProgram program_of(const TrainJob& job, std::string_view platform,
                       decltype(&train_program) program);

// What a saved batch gives on the state before it. UsageError for a folder that holds none, or one
// of another model.
GradientReport replay(const TrainJob& job, const std::string& folder);

}  // namespace smelt
