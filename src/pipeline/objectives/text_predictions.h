// Texts that a fine-tuned T5 generates for evaluated rows, and their metrics.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/config/objective_type.h"

namespace smelt::pipeline {

struct TextsToAnswer {
  io::Features features;  // features of the records
  std::int64_t inputs_length = 0, targets_length = 0;
};

// Generates a greedy answer for each row of the batches that eval.steps allows, and writes text,
// label and answer to RecipePaths::predictions, one line per row. Returns exact_match, the share of
// answers equal to the label in its file, ignoring repeated spaces; and bleu of all rows together
// (evaluation/metrics/named.h). If the original rows are missing (rows_beside()), uses the labels
// decoded from the records and logs a warning. Throws UsageError if there are fewer rows than
// records, and Stopped after a signal.
std::vector<model::MeasuredValue> write_text_predictions(const Recipe& recipe,
                                                         const TextsToAnswer& of);

// Returns an object that computes exact_match and bleu on the held-out rows during training. `job`
// is the generation job of the recipe's model.
std::unique_ptr<execution::StateMeasures> answer_measures(
    const Recipe& recipe, const TextsToAnswer& of, std::shared_ptr<const pjrt::Client> client,
    execution::GenerateJob job);

}  // namespace smelt::pipeline
