// Scores of models on the same rows, each compared with the first model.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "evaluation/metrics/named.h"
#include "evaluation/metrics/resample.h"
#include "pipeline/compression/asked_rows.h"

namespace smelt::pipeline {

// Predictions of a model for rows, as ComparedModel::predict() returns them.
using SaidRows = std::vector<OrderedJson>;

// Returns {metric: {"value", "low", "high"}}. If rows have labels of words, each word is an
// example, except for the metrics entity-*.
OrderedJson scores_json(const SaidRows& rows, const std::vector<std::string>& metrics,
                        const evaluation::ResampleOptions& with);

// Returns {metric: {"difference", "low", "high", "p_value"}}. The difference is the model's score
// minus the base model's. For accuracy and exact-match, also returns
// "mcnemar": {"only_model", "only_base", "p"}.
OrderedJson against_json(const SaidRows& rows, const SaidRows& base,
                         const std::vector<std::string>& metrics,
                         const evaluation::ResampleOptions& with);

// Returns {"count", "examples": [{"text", "label", "base", "prediction"}, …]}: the rows whose
// prediction differs from the base's, with at most `most` examples. For regression, those that
// differ most.
OrderedJson changed_json(const SaidRows& rows, const SaidRows& base, std::size_t most);

// Returns the value of one metric, to select a model.
double score_of(const SaidRows& rows, const std::string& metric);

// Returns the number of rows of `second` whose text and label also occur in `first`.
std::size_t rows_in_both(const SaidRows& first, const SaidRows& second);

}  // namespace smelt::pipeline
