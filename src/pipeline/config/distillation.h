// The teacher model that a recipe names.
#pragma once

#include "model/tasks/distill.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Opens distill.teacher, once for all copies of a recipe; its values are read on demand. Throws
// UsageError if it does not match the recipe's task.
model::Teacher teacher_of(const Recipe& recipe);

// Returns shrinking_task(), with the teacher's losses added if the recipe names a teacher
// (model/tasks/distill.h). Throws UsageError if the teacher is missing, does not match the task or
// has another vocabulary. For inference, the teacher may be missing if the run has a checkpoint.
enum class DistilledFor { training, inference };
model::Task distilled_task(const Recipe& recipe, model::Task task, DistilledFor use);

// Returns the task with train.fake_quant (model/tasks/fake_quant.h) applied, and with the settings
// of fake_quant and train.pruning, which a resumed run must not change.
model::Task shrinking_task(const Recipe& recipe, model::Task task);

// Throws UsageError if the recipe's teacher differs from the one that the model in its folder was
// trained with, or if only one of them has a teacher. The teacher's path may differ. Does nothing
// if the teacher is missing.
void check_same_teacher(const Recipe& recipe);

}  // namespace smelt::pipeline
