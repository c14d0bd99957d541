#include "pipeline/compression/compress_scores.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "base/error.h"

namespace smelt::pipeline {
namespace {

struct Scored {
  evaluation::JsonValues predictions, labels;
};

// Returns whether the metric counts each word of a row as an example.
bool is_of_words(const SaidRows& rows, const std::string& metric) {
  return evaluation::is_over_words(metric) && !rows.empty() && rows.front().contains("words");
}

Scored scored_values(const SaidRows& rows, const std::string& metric) {
  const std::string field = evaluation::predicted_field(metric);
  Scored out;
  for (const OrderedJson& row : rows) {
    if (!row.contains(field))
      throw UsageError(str("compress: --metric ", metric, ": this model does not predict ", field),
                       "remove this --metric");
    out.predictions.emplace_back(row[field]);
    out.labels.emplace_back(row["label"]);
  }
  if (!is_of_words(rows, metric)) return out;
  evaluation::WordLabels words = evaluation::labels_of_words(out.predictions, out.labels);
  return {.predictions = std::move(words.predicted), .labels = std::move(words.wanted)};
}

OrderedJson mcnemar_json(const evaluation::ScoreOf& model, const evaluation::ScoreOf& base,
                         std::size_t examples) {
  std::int64_t only_model = 0, only_base = 0;
  for (std::size_t i = 0; i < examples; ++i) {
    const std::size_t one[] = {i};
    only_model += model(one) > base(one) ? 1 : 0;
    only_base += model(one) < base(one) ? 1 : 0;
  }
  return {{"only_model", only_model},
          {"only_base", only_base},
          {"p", evaluation::mcnemar(only_model, only_base)}};
}

std::string key_of_row(const OrderedJson& row) {
  std::string out;
  for (const char* field : {"question", "text", "pair", "words", "label"})
    out += row.contains(field) ? row[field].dump() + "\n" : "";
  return out;
}

// Returns the input of a row as one text.
std::string text_of_row(const OrderedJson& row) {
  const char* const field = row.contains("question") ? "question" : "text";
  if (row.contains("words")) return join(row["words"].get<std::vector<std::string>>(), " ");
  const std::string pair = row.value("pair", std::string());
  return row.value(field, std::string()) + (pair.empty() ? "" : " | " + pair);
}

}  // namespace

OrderedJson scores_json(const SaidRows& rows, const std::vector<std::string>& metrics,
                        const evaluation::ResampleOptions& with) {
  OrderedJson out = OrderedJson::object();
  for (const std::string& metric : metrics) {
    const Scored all = scored_values(rows, metric);
    const evaluation::Interval own = evaluation::bootstrap(
        all.labels.size(), evaluation::metric_of(metric, all.predictions, all.labels), with);
    out[metric] = {{"value", own.value}, {"low", own.low}, {"high", own.high}};
  }
  return out;
}

OrderedJson against_json(const SaidRows& rows, const SaidRows& base,
                         const std::vector<std::string>& metrics,
                         const evaluation::ResampleOptions& with) {
  OrderedJson out = OrderedJson::object();
  for (const std::string& metric : metrics) {
    const Scored own = scored_values(rows, metric), theirs = scored_values(base, metric);
    const evaluation::ScoreOf first = evaluation::metric_of(metric, own.predictions, own.labels),
                              second =
                                  evaluation::metric_of(metric, theirs.predictions, theirs.labels);
    const evaluation::PairedTest test =
        evaluation::paired_bootstrap(own.labels.size(), first, second, with);
    out[metric] = {{"difference", test.difference.value},
                   {"low", test.difference.low},
                   {"high", test.difference.high},
                   {"p_value", test.p_value}};
    if (metric == "accuracy" || metric == "exact-match")
      out[metric]["mcnemar"] = mcnemar_json(first, second, own.labels.size());
  }
  return out;
}

OrderedJson changed_json(const SaidRows& rows, const SaidRows& base, std::size_t most) {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i]["prediction"] != base[i]["prediction"]) changed.push_back(i);
  std::ranges::stable_sort(changed, std::greater(), [&](std::size_t i) {
    const OrderedJson &own = rows[i]["prediction"], &theirs = base[i]["prediction"];
    return own.is_number() ? std::abs(own.get<double>() - theirs.get<double>()) : 0;
  });
  OrderedJson examples = OrderedJson::array();
  for (const std::size_t i : std::span(changed).first(std::min(most, changed.size())))
    examples.push_back({{"text", text_of_row(rows[i])},
                        {"label", rows[i]["label"]},
                        {"base", base[i]["prediction"]},
                        {"prediction", rows[i]["prediction"]}});
  return {{"count", changed.size()}, {"examples", examples}};
}

double score_of(const SaidRows& rows, const std::string& metric) {
  const Scored all = scored_values(rows, metric);
  return evaluation::score_of_all(evaluation::metric_of(metric, all.predictions, all.labels),
                                  all.labels.size());
}

std::size_t rows_in_both(const SaidRows& first, const SaidRows& second) {
  std::set<std::string> known;
  for (const OrderedJson& row : first) known.insert(key_of_row(row));
  std::size_t both = 0;
  for (const OrderedJson& row : second) both += known.contains(key_of_row(row)) ? 1 : 0;
  return both;
}

}  // namespace smelt::pipeline
