// Metrics by name, for predictions and references in JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "evaluation/metrics/classification.h"
#include "evaluation/metrics/resample.h"

namespace smelt::evaluation {

using JsonValues = std::vector<Json>;

// Returns the names of all metrics, in the order in which to list them.
std::vector<std::string> metric_names();

// Returns a metric by name, as a function of the indices of examples. Labels are compared in
// Unicode NFC, including LABEL of f1:LABEL.
// accuracy, matthews, {precision,recall,f1}-{macro,micro,weighted}: labels are strings, integers or
// booleans; averages are over the classes that occur in the examples. The prediction "" is wrong
// and not counted as a class, unless some reference is "".
// {precision,recall,f1}:LABEL: the metric of one class, which must occur in the examples.
// For all of these, values may also be lists of distinct labels (multi-label): accuracy is then the
// share of examples whose labels are all correct, and matthews is not supported.
// auc-macro, auc-weighted: the prediction is an object with the probability of each class; the
// reference is one of their names.
// pearson, spearman, mse, auc, average-precision: numbers; for auc the reference is 0 or 1, for
// average-precision a reference of at least 0.5 is positive.
// mrr: the prediction is a reciprocal rank; the reference is not used.
// exact-match, squad-f1, rouge1, rouge2, rougeL, rougeLsum (F1; with the suffix "-stem" after
// stemming), bleu: strings; the reference may be a list of strings, and the best match counts.
// entity-{precision,recall,f1}: lists of labels (micro average).
// Shares are in [0, 1], bleu in [0, 100]. Throws UsageError for an unknown name, and for a value of
// another type; the message then names the example (from 1).
ScoreOf metric_of(std::string_view metric, const JsonValues& predicted, const JsonValues& wanted);

// The labels of the words of all examples, one after another. If a word has no prediction, because
// the list of predictions is shorter or has null there, its prediction is "", which is wrong and
// not counted as a class.
struct WordLabels {
  JsonValues predicted, wanted;
  // Index of each example's first word; one more entry than examples.
  std::vector<std::size_t> begin;
};
// Returns the labels of all words. Throws UsageError, which names the example (from 1), if a value
// is not a list.
WordLabels labels_of_words(const JsonValues& predicted, const JsonValues& wanted);

// Returns whether a metric of word labels is computed over words: all but entity-*.
bool is_over_words(std::string_view metric);

// Returns the metric for lists of word labels: over the words of the chosen examples if
// is_over_words(metric), else over the lists.
ScoreOf metric_of_words(std::string_view metric, const JsonValues& predicted,
                        const JsonValues& wanted);

// Returns metric_of_words() if the values are lists of word labels, else metric_of().
ScoreOf metric_of(std::string_view metric, const JsonValues& predicted, const JsonValues& wanted,
                  bool of_words);

// Splits a comma-separated list of metrics. A comma within the LABEL of "f1:LABEL" does not split:
// text after a comma that is not a metric's name belongs to the label.
std::vector<std::string> metric_list(std::string_view list);

// Returns the field of predictions.jsonl that the metric needs: "prediction" or "probabilities".
std::string predicted_field(std::string_view metric);

// Throws UsageError if the numbers of predictions and references differ.
void expect_pairs(const JsonValues& predicted, const JsonValues& wanted);

struct NamedCounts {
  std::vector<std::string> names;  // sorted
  ClassCounts counts;
  bool are_lists = false;  // an example may have any number of classes
};
NamedCounts counts_of(const JsonValues& predicted, const JsonValues& wanted);
// Returns the counts over words of labels_of_words().
NamedCounts counts_of_words(const JsonValues& predicted, const JsonValues& wanted);

}  // namespace smelt::evaluation
