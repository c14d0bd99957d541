// The teacher that a recipe names.
#pragma once

#include "model/tasks/distill.h"
#include "pipeline/recipe.h"

namespace smelt {

// distill.teacher, opened, which all copies of a recipe do once; its values are read when they are
// wanted. UsageError for what is none of the recipe's task.
Teacher teacher_of(const Recipe& recipe);

// The task as it is trained: as shrinking_task(), and held to the teacher where the recipe names
// one (model/tasks/distill.h). UsageError for a teacher that does not fit, of another vocabulary,
// or that is not there; where a run that has begun is only asked, as `asked` says, it may be gone.
enum class DistilledFor { training, asking };
Task distilled_task(const Recipe& recipe, Task task, DistilledFor use);

// The task as the recipe's model learns to become smaller: computed as train.fake_quant says
// (model/tasks/fake_quant.h), and held to that and to train.pruning.sparsity.
Task shrinking_task(const Recipe& recipe, Task task);

// UsageError where the recipe's folder holds a model that was trained with another teacher,
// whatever its path, or with one where the recipe has none. A teacher that is not there is not
// asked for.
void check_same_teacher(const Recipe& recipe);

}  // namespace smelt
