// Predictions of a classifier, as a job and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "checkpoint/interop/stored_model.h"
#include "execution/inference/classify.h"
#include "model/tasks/classify_task.h"
#include "model/train_step/report.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the inference job of a task.
execution::ClassifyJob classify_job(const model::ClassifyTask& task);
// Writes a JSON object for each example of eval.split to RecipePaths::predictions: "text" (with
// "pair" for a second text), label, prediction and probabilities. Texts are the original ones or,
// if their file is missing, decoded from the token ids. For token_labels, label, prediction and
// probabilities are lists with a value for each word, and words_json() adds its other fields.
// Returns Pearson's and Spearman's correlation for regression; average_precision and, if queries
// have several documents, ndcg_at_10, mrr_at_10 and map for rerank; precision, recall and F1 of
// entities (evaluation/metrics/entities.h) for BIO labels; otherwise an empty vector.
std::vector<model::MeasuredValue> write_class_predictions(const Recipe& recipe,
                                                          const model::ClassifyTask& task);

// Writes the answers to the questions of eval.split to RecipePaths::predictions. Returns
// exact_match and f1; if the file of the questions is missing, returns nothing and logs a warning.
std::vector<model::MeasuredValue> write_answer_predictions(const Recipe& recipe);

// Returns a sentence with the classes that are labels of held-out examples but are never predicted,
// and a suggestion. Empty if every such class is predicted. Both maps have counts by class.
std::string never_predicted(const std::map<std::string, std::int64_t>& labelled,
                            const std::map<std::string, std::int64_t>& predicted);

// Returns a prediction as JSON: a class, a list of classes, or a number. Not for token_labels.
OrderedJson said_json(const io::Labels& labels, std::span<const float> numbers);
// Returns the most likely class of each word. An "I-" class that does not follow its entity becomes
// "B-", if there is such a class.
std::vector<std::string> said_labels(const io::Labels& labels, std::span<const float> numbers);
// Returns whether word labels have the BIO scheme: a class begins with "B-" or "I-".
bool has_entities(const io::Labels& labels);
// Returns {"words", "prediction", "probabilities", "entities"} for a text of token_labels;
// "entities" only for BIO classes. Words beyond `numbers`, which were truncated, have the label "O"
// if there is such a class, else null.
OrderedJson words_json(const io::Labels& labels, std::vector<std::string> words,
                       std::span<const float> numbers);
// Returns {"class": probability, …}. Not for token_labels.
OrderedJson probabilities_json(const io::Labels& labels, std::span<const float> numbers);

// Returns the task of a stored classifier. Throws UsageError if its classes are not stored.
model::ClassifyTask stored_classifier(const checkpoint::StoredModel& model);

}  // namespace smelt::pipeline
