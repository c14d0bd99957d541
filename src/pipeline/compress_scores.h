// How right models are on the same rows, each against the first.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "evaluation/metrics/named.h"
#include "evaluation/metrics/resample.h"
#include "pipeline/asked_rows.h"

namespace smelt {

// What a model says of rows, as AskedModel::say() has it.
using SaidRows = std::vector<OrderedJson>;

// {metric: {"value", "low", "high"}}. If rows have labels of words, each word is an example of all
// metrics but entity-*.
OrderedJson scores_json(const SaidRows& rows, const std::vector<std::string>& metrics,
                        const ResampleOptions& with);

// {metric: {"difference", "low", "high", "p_value"}}, the model less the base, and of accuracy and
// exact-match "mcnemar": {"only_model", "only_base", "p"}.
OrderedJson against_json(const SaidRows& rows, const SaidRows& base,
                         const std::vector<std::string>& metrics, const ResampleOptions& with);

// {"count", "examples": [{"text", "label", "base", "prediction"}, …]}: rows of which it says
// something else than the base, of those at most `most`, of numbers those that differ most.
OrderedJson changed_json(const SaidRows& rows, const SaidRows& base, std::size_t most);

// One number for a metric, to choose by.
double score_of(const SaidRows& rows, const std::string& metric);

// Rows of the second whose texts and labels stand in the first, too.
std::size_t rows_in_both(const SaidRows& first, const SaidRows& second);

}  // namespace smelt
