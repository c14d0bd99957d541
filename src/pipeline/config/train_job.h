// A recipe's training program: the job of its train section and its task.
#pragma once

#include "pipeline/config/recipe.h"
#include "train/trainer.h"

namespace smelt::pipeline {

// Returns a job with the settings of `train`. Its files, callbacks and checkpoints are not set.
train::TrainJob train_job(const train::TrainConfig& train, model::Task task);

// Builds the training program and discards it, so that its errors appear before hours of other
// stages. The task's vocabulary may still have another size. Stores the properties of the program
// in recipe.program.
void check_program(const Recipe& recipe, const model::Task& task);

}  // namespace smelt::pipeline
