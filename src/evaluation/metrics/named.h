// Metrics by their names, over predictions and references as JSON holds them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "evaluation/metrics/classification.h"
#include "evaluation/metrics/resample.h"

namespace smelt {

using JsonValues = std::vector<Json>;

// Labels are compared composed (Unicode NFC), that of f1:LABEL too.

// In the order to list them.
std::vector<std::string> metric_names();

// accuracy, matthews, {precision,recall,f1}-{macro,micro,weighted}: labels are texts, whole numbers
//   or booleans; averages are over the classes that the examples have. The prediction "" is no
//   class, and wrong, if no reference is "". {precision,recall,f1}:LABEL:
//   of the class of that name, which the examples must have.
//   Lists of different labels will do, too, of examples that have any number of classes: accuracy
//   is the share of those of which all is right, matthews is not defined, and
//   {precision,recall,f1}:LABEL is of the examples that have the class against the rest.
// auc-macro, auc-weighted: the prediction is an object, of each class its probability; the
//   reference is one of their names.
// pearson, spearman, mse, auc: numbers; of auc the reference is 0 or 1.
// exact-match, squad-f1, rouge1, rouge2, rougeL, rougeLsum (F; "-stem" behind it: of stems), bleu:
//   a text; the reference may be a list of them, whose best counts.
// entity-{precision,recall,f1}: lists of labels (micro).
// All are in [0, 1] as far as they are shares, bleu is in [0, 100]. UsageError for an unknown name,
// and naming the example (from 1) whose value has another type.
ScoreOf metric_of(std::string_view metric, const JsonValues& predicted, const JsonValues& wanted);

// Examples that are lists of labels of words, as one example per word. A word without a prediction
// (the list is shorter, or has null) has the prediction "", which is wrong and no class.
struct WordLabels {
  JsonValues predicted, wanted;
  std::vector<std::size_t> begin;  // of each example's words; one more entry than examples
};
// Throws UsageError that names the example (from 1) if a value is not a list.
WordLabels labels_of_words(const JsonValues& predicted, const JsonValues& wanted);

// Whether a metric of lists of labels of words is computed over words: all but entity-*.
bool is_over_words(std::string_view metric);

// Returns the score of examples that are lists of labels of words: metric_of() of the words of the
// chosen examples if is_over_words(metric), else metric_of() of the lists.
ScoreOf metric_of_words(std::string_view metric, const JsonValues& predicted,
                        const JsonValues& wanted);

// metric_of_words() if the values are lists of labels of words, else metric_of().
ScoreOf metric_of(std::string_view metric, const JsonValues& predicted, const JsonValues& wanted,
                  bool of_words);

// Splits a list of metrics at its commas, but not within the LABEL of "f1:LABEL": what follows one
// and is no metric's name belongs to the label.
std::vector<std::string> metric_list(std::string_view list);

// The field that it scores of what an evaluation says: "prediction" or "probabilities".
std::string predicted_field(std::string_view metric);

// UsageError where there are more of one than of the other.
void expect_pairs(const JsonValues& predicted, const JsonValues& wanted);

struct NamedCounts {
  std::vector<std::string> names;  // sorted
  ClassCounts counts;
  bool are_lists = false;  // an example may have any number of classes
};
NamedCounts counts_of(const JsonValues& predicted, const JsonValues& wanted);
// The same of labels_of_words().
NamedCounts counts_of_words(const JsonValues& predicted, const JsonValues& wanted);

}  // namespace smelt
