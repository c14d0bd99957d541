#include "metrics/named.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "metrics/answers.h"
#include "metrics/bleu.h"
#include "metrics/correlation.h"
#include "metrics/entities.h"

namespace smelt {
namespace {

using nlohmann::json;
using Examples = std::span<const std::size_t>;
using Texts = std::vector<std::string>;

struct Side {
  const char* name;
  const JsonValues& values;
};

[[noreturn]] void refuse(const Side& side, std::size_t example, std::string_view wanted) {
  const json& value = side.values[example];
  throw UsageError(
      str("example ", example + 1, ": the ", side.name, " is ",
          value.dump(-1, ' ', false, json::error_handler_t::replace), ", not ", wanted),
      "choose another metric or another field");
}

std::string label_at(const Side& side, std::size_t i) {
  const json& value = side.values[i];
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() || value.is_boolean()) return value.dump();
  refuse(side, i, "a label: a text, a whole number or a boolean");
}

double number_at(const Side& side, std::size_t i) {
  if (!side.values[i].is_number()) refuse(side, i, "a number");
  return side.values[i].get<double>();
}

std::string text_at(const Side& side, std::size_t i) {
  if (!side.values[i].is_string()) refuse(side, i, "a text");
  return side.values[i].get<std::string>();
}

Texts texts_at(const Side& side, std::size_t i, std::string_view wanted) {
  const json& value = side.values[i];
  if (!value.is_array()) refuse(side, i, wanted);
  for (const json& text : value)
    if (!text.is_string()) refuse(side, i, wanted);
  return value.get<Texts>();
}

Texts answers_at(const Side& side, std::size_t i) {
  if (side.values[i].is_string()) return {side.values[i].get<std::string>()};
  return texts_at(side, i, "a text or a list of texts");
}

double of_confusion(std::string_view metric, const Confusion& c) {
  if (metric == "accuracy") return accuracy(c);
  if (metric == "matthews") return matthews(c);
  PrecisionRecall score = micro_average(c);
  if (!metric.ends_with("-micro")) {
    std::vector<PrecisionRecall> there;
    for (std::size_t i = 0; i < c.classes(); ++i)
      if (c.predicted(i) + c.wanted(i) > 0)
        there.push_back(precision_recall(c.count(i, i), c.predicted(i), c.wanted(i)));
    score = metric.ends_with("-macro") ? macro_average(there) : weighted_average(there);
  }
  if (metric.starts_with("precision")) return score.precision;
  return metric.starts_with("recall") ? score.recall : score.f1;
}

struct Classes {
  Texts names;
  std::vector<std::size_t> predicted, wanted;
};

Classes classes_of(const Side& predicted, const Side& wanted) {
  std::map<std::string, std::size_t> numbers;
  for (const Side* side : {&predicted, &wanted})
    for (std::size_t i = 0; i < side->values.size(); ++i) numbers[label_at(*side, i)] = 0;
  Classes out;
  for (auto& [name, number] : numbers) {
    number = out.names.size();
    out.names.push_back(name);
  }
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    out.predicted.push_back(numbers[label_at(predicted, i)]);
    out.wanted.push_back(numbers[label_at(wanted, i)]);
  }
  return out;
}

ScoreOf class_metric(std::string_view metric, const Side& predicted, const Side& wanted) {
  return [metric = std::string(metric), c = classes_of(predicted, wanted)](Examples examples) {
    Confusion confusion(c.names.size());
    for (const std::size_t e : examples) confusion.add(c.predicted[e], c.wanted[e]);
    return of_confusion(metric, confusion);
  };
}

ScoreOf number_metric(std::string_view metric, const Side& predicted, const Side& wanted) {
  const auto score = metric == "pearson"    ? pearson
                     : metric == "spearman" ? spearman
                     : metric == "auc"      ? roc_auc
                                            : mean_squared_error;
  std::vector<double> given, right;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    given.push_back(number_at(predicted, i));
    right.push_back(number_at(wanted, i));
    if (metric == "auc" && right.back() != 0 && right.back() != 1) refuse(wanted, i, "0 or 1");
  }
  return [score, given, right](Examples examples) {
    std::vector<double> p, w;
    for (const std::size_t e : examples) {
      p.push_back(given[e]);
      w.push_back(right[e]);
    }
    return score(p, w);
  };
}

double answer_score(std::string_view metric, const std::string& given, const Texts& right) {
  if (metric == "exact-match") return squad_score(given, right).exact;
  if (metric == "squad-f1") return squad_score(given, right).f1;
  double best = 0;
  for (const std::string& text : right)
    best = std::max(best, metric == "rougeL" ? rouge_l(given, text).f1
                                             : rouge_n(given, text, metric == "rouge1" ? 1 : 2).f1);
  return best;
}

ScoreOf answer_metric(std::string_view metric, const Side& predicted, const Side& wanted) {
  std::vector<double> scores;
  for (std::size_t i = 0; i < wanted.values.size(); ++i)
    scores.push_back(answer_score(metric, text_at(predicted, i), answers_at(wanted, i)));
  return [scores](Examples examples) {
    double sum = 0;
    for (const std::size_t e : examples) sum += scores[e];
    return sum / static_cast<double>(examples.size());
  };
}

ScoreOf bleu_metric(std::string_view, const Side& predicted, const Side& wanted) {
  std::vector<BleuCounts> counts;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    const Texts references = answers_at(wanted, i);
    if (references.empty()) refuse(wanted, i, "at least one text");
    counts.push_back(bleu_counts(text_at(predicted, i), references));
  }
  return [counts](Examples examples) {
    BleuCounts sum;
    for (const std::size_t e : examples) sum += counts[e];
    return bleu(sum);
  };
}

ScoreOf entity_metric(std::string_view metric, const Side& predicted, const Side& wanted) {
  std::vector<EntityCounts> counts;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    const Texts p = texts_at(predicted, i, "a list of labels");
    const Texts w = texts_at(wanted, i, "a list of labels");
    if (p.size() != w.size()) refuse(predicted, i, str("a list of ", w.size(), " labels"));
    counts.push_back(entity_counts(p, w));
  }
  return [counts, metric = std::string(metric)](Examples examples) {
    EntityCounts sum;
    for (const std::size_t e : examples) sum += counts[e];
    const PrecisionRecall score = sum.score();
    if (metric == "entity-precision") return score.precision;
    return metric == "entity-recall" ? score.recall : score.f1;
  };
}

struct Named {
  const char* name;
  ScoreOf (*make)(std::string_view metric, const Side& predicted, const Side& wanted);
};
constexpr Named kMetrics[] = {{"accuracy", class_metric},
                              {"matthews", class_metric},
                              {"precision-macro", class_metric},
                              {"precision-micro", class_metric},
                              {"precision-weighted", class_metric},
                              {"recall-macro", class_metric},
                              {"recall-micro", class_metric},
                              {"recall-weighted", class_metric},
                              {"f1-macro", class_metric},
                              {"f1-micro", class_metric},
                              {"f1-weighted", class_metric},
                              {"pearson", number_metric},
                              {"spearman", number_metric},
                              {"mse", number_metric},
                              {"auc", number_metric},
                              {"exact-match", answer_metric},
                              {"squad-f1", answer_metric},
                              {"rouge1", answer_metric},
                              {"rouge2", answer_metric},
                              {"rougeL", answer_metric},
                              {"bleu", bleu_metric},
                              {"entity-precision", entity_metric},
                              {"entity-recall", entity_metric},
                              {"entity-f1", entity_metric}};

}  // namespace

void expect_pairs(const JsonValues& predicted, const JsonValues& wanted) {
  if (predicted.size() != wanted.size())
    throw UsageError(
        str("scores: ", predicted.size(), " predictions for ", wanted.size(), " references"),
        "give one prediction for each reference, in their order");
}

std::vector<std::string> metric_names() {
  std::vector<std::string> out;
  for (const Named& metric : kMetrics) out.emplace_back(metric.name);
  return out;
}

ScoreOf metric_of(std::string_view metric, const JsonValues& predicted, const JsonValues& wanted) {
  expect_pairs(predicted, wanted);
  for (const Named& named : kMetrics)
    if (metric == named.name)
      return named.make(metric, {"prediction", predicted}, {"reference", wanted});
  throw UsageError(str("--metric: '", metric, "' is unknown"),
                   str("give one of ", join(metric_names(), ", ")));
}

NamedConfusion confusion_of(const JsonValues& predicted, const JsonValues& wanted) {
  expect_pairs(predicted, wanted);
  const Classes c = classes_of({"prediction", predicted}, {"reference", wanted});
  return {c.names, Confusion(c.names.size(), c.predicted, c.wanted)};
}

}  // namespace smelt
