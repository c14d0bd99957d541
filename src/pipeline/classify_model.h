// What a classifier answers, by its task or in a folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "checkpoint/interop/stored_model.h"
#include "execution/inference/classify.h"
#include "model/tasks/classify_task.h"
#include "model/train_step/report.h"
#include "pipeline/recipe.h"

namespace smelt {

ClassifyJob classify_job(const ClassifyTask& task);
// What a classifier says of the examples of eval.split, a JSON object each: text (of its pieces, a
// pair's as "pair"), label, prediction, probabilities; of token_labels lists of those, and
// entities; into RecipePaths's `predictions`. Of entities precision, recall and F1
// (evaluation/metrics/entities.h), of numbers Spearman's correlation.
std::vector<MeasuredValue> write_class_predictions(const Recipe& recipe, const ClassifyTask& task);

// Writes the answers to the questions of eval.split to RecipePaths's `predictions`, and returns
// exact_match and f1; nothing, with a warning, if the file of the questions is missing.
std::vector<MeasuredValue> write_answer_predictions(const Recipe& recipe);

// Names the classes that are labels of held-out examples but are never predicted, with what helps;
// empty if there are none. Both maps count by class.
std::string never_predicted(const std::map<std::string, std::int64_t>& labelled,
                            const std::map<std::string, std::int64_t>& predicted);

// As JSON holds them: a class, a list of classes, or a number; not of token_labels.
OrderedJson said_json(const Labels& labels, std::span<const float> numbers);
// The most likely class of each word; one inside an entity that none has begun begins it ("I-"
// becomes "B-" where there is such a class).
std::vector<std::string> said_labels(const Labels& labels, std::span<const float> numbers);
// Whether labels of words are BIO's: one of the classes begins with "B-" or "I-".
bool has_entities(const Labels& labels);
// What is said of such words, {"words", "prediction", "probabilities", "entities"}: entities where
// the classes are of BIO. Words behind those that `numbers` are of, which were cut off, are "O"
// where there is such a class, else null.
OrderedJson words_json(const Labels& labels, std::vector<std::string> words,
                       std::span<const float> numbers);
// {"class": probability, …}; not of token_labels.
OrderedJson probabilities_json(const Labels& labels, std::span<const float> numbers);

// UsageError for a folder that does not tell its classes.
ClassifyTask stored_classifier(const StoredModel& model);

}  // namespace smelt
