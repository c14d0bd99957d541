// A recipe's training program: the job of its train section and its task.
#pragma once

#include "pipeline/recipe.h"
#include "train/trainer.h"

namespace smelt {

// All of a training but its files and what is said and saved.
TrainJob train_job(const TrainConfig& train, Task task);

// Builds the training program and drops it: whatever it would refuse is said before hours of other
// stages. The task's vocabulary may still have another size then. What the program comes to is in
// recipe.program afterwards.
void check_program(const Recipe& recipe, const Task& task);

}  // namespace smelt
