// What a classifier answers, by its task or in a folder.
#pragma once

#include <string>

#include "ask/classify.h"
#include "checkpoint/stored_model.h"
#include "recipe/recipe.h"
#include "tasks/classify_task.h"

namespace smelt {

ClassifyJob classify_job(const ClassifyTask& task);
// UsageError for a folder that does not tell its classes.
ClassifyTask stored_classifier(const StoredModel& model);

}  // namespace smelt
