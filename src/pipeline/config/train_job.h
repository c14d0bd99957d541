// A recipe's training program: the job of its train section and its task.
#pragma once

#include "pipeline/config/recipe.h"
#include "train/trainer.h"

namespace smelt::pipeline {

// Returns a job with the settings of `train`. Its files, callbacks and checkpoints are not set.
train::TrainJob train_job(const train::TrainConfig& train, model::Task task);

// Builds the training program and discards it, so that errors appear before hours of data
// processing. Stores its properties in recipe.program. The task may have a provisional vocabulary
// size.
void check_program(const Recipe& recipe, const model::Task& task);

}  // namespace smelt::pipeline
