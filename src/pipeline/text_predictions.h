// What a fine-tuned T5 answers to the rows that are scored.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/objective_type.h"

namespace smelt {

struct TextsToAnswer {
  Features features;  // of the records
  std::int64_t inputs_length = 0, targets_length = 0;
};

// Writes RecipePaths's `predictions`, a line for each row of the batches that eval.steps allows:
// its text, its label and the greedy answer. exact_match: the share of answers that are the label
// as its file has it, runs of spaces as one; bleu: of all rows together
// (evaluation/metrics/named.h). Where no rows_beside() the records are, labels are what the
// records' ids say, which is warned of. UsageError for fewer rows than records, Stopped after a
// signal.
std::vector<MeasuredValue> write_text_predictions(const Recipe& recipe, const TextsToAnswer& of);

// What such answers to the held-out rows come to while the model is trained: the same two values.
// `job` is that of the recipe's model.
std::unique_ptr<StateMeasures> answer_measures(const Recipe& recipe, const TextsToAnswer& of,
                                               std::shared_ptr<const Client> client,
                                               GenerateJob job);

}  // namespace smelt
