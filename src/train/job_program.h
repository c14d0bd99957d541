// Step programs of a training job for its platform.
#pragma once

#include <string>
#include <string_view>

#include "train/bad_batch.h"
#include "train/trainer.h"

namespace smelt::train {

// Returns the policy of compute_for() with one change: if the job does not set layers and no mesh
// axis shards parameters, the layers of a long run on a TPU are unrolled. Such steps are faster and
// need less memory than a scan that stores the results of matmuls. The decision depends on the
// total number of steps, so that a resumed run has the same program.
model::ComputePolicy compute_of(const TrainJob& job, std::string_view platform);
// Returns text for the log on the choice between unrolled layers and a scan; empty if the job sets
// this or the platform is not a TPU.
std::string layer_choice_text(const TrainJob& job, std::string_view platform);

// Builds `program`, which is train_program or gradient_program, for the job.
model::StepProgram program_of(const TrainJob& job, std::string_view platform,
                              decltype(&model::train_program) program);

// Repeats the saved bad step of a folder and returns its gradients. Throws UsageError if the folder
// contains no batch, or that of another model.
GradientReport replay(const TrainJob& job, const std::string& folder);

}  // namespace smelt::train
