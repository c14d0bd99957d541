// What a classifier answers, by its task or in a folder.
#pragma once

#include <string>

#include "ask/classify.h"
#include "checkpoint/stored_model.h"
#include "recipe/recipe.h"
#include "tasks/classify_task.h"

namespace smelt {

ClassifyJob classify_job(const ClassifyTask& task);
// What a classifier says of the examples of eval.split, a JSON object each: text (of its pieces, a
// pair's as "pair"), label, prediction, probabilities; into RecipePaths's `predictions`.
void write_class_predictions(const Recipe& recipe, const ClassifyTask& task);

// As JSON holds them: a class, a list of classes, or a number.
nlohmann::ordered_json said_json(const Labels& labels, std::span<const float> numbers);
// {"class": probability, …}
nlohmann::ordered_json probabilities_json(const Labels& labels, std::span<const float> numbers);

// UsageError for a folder that does not tell its classes.
ClassifyTask stored_classifier(const StoredModel& model);

}  // namespace smelt
