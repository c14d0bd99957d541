// Metrics by their names, over predictions and references as JSON holds them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/classification.h"
#include "metrics/resample.h"

namespace smelt {

using JsonValues = std::vector<nlohmann::json>;

// In the order to list them.
std::vector<std::string> metric_names();

// accuracy, matthews, {precision,recall,f1}-{macro,micro,weighted}: labels are texts, whole numbers
//   or booleans; averages are over the classes that the examples have.
// pearson, spearman, mse, auc: numbers; of auc the reference is 0 or 1.
// exact-match, squad-f1, rouge1, rouge2, rougeL (F), bleu: a text; the reference may be a list of
//   them, whose best counts. entity-{precision,recall,f1}: lists of labels (micro).
// All are in [0, 1] as far as they are shares, bleu is in [0, 100]. UsageError for an unknown name,
// and naming the example (from 1) whose value has another type.
ScoreOf metric_of(std::string_view metric, const JsonValues& predicted, const JsonValues& wanted);

// UsageError where there are more of one than of the other.
void expect_pairs(const JsonValues& predicted, const JsonValues& wanted);

struct NamedConfusion {
  std::vector<std::string> names;  // sorted
  Confusion confusion;
};
NamedConfusion confusion_of(const JsonValues& predicted, const JsonValues& wanted);

}  // namespace smelt
