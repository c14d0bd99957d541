#include "evaluation/metrics/named.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/nearest_name.h"
#include "evaluation/metrics/answers.h"
#include "evaluation/metrics/bleu.h"
#include "evaluation/metrics/correlation.h"
#include "evaluation/metrics/entities.h"
#include "evaluation/metrics/rouge.h"
#include "text/readers/unicode.h"

namespace smelt::evaluation {
namespace {

using Examples = std::span<const std::size_t>;
using Texts = std::vector<std::string>;

struct Side {
  const char* name;
  const JsonValues& values;
};

[[noreturn]] void refuse(const Side& side, std::size_t example, std::string_view wanted) {
  const Json& value = side.values[example];
  throw UsageError(str("example ", example + 1, ": the ", side.name, " is ",
                       value.dump(-1, ' ', false, JsonInvalidUtf8::replace), ", not ", wanted),
                   "choose another metric or another field");
}

[[noreturn]] void refuse_metric(std::string_view metric) {
  throw UsageError(str("--metric: '", metric, "' is unknown"),
                   str("give one of ", join(metric_names(), ", ")));
}

// Returns the label of an example in Unicode NFC, like those of training data.
std::string label_at(const Side& side, std::size_t i) {
  const Json& value = side.values[i];
  if (value.is_string()) return text::nfc(value.get<std::string>());
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
  const Json& value = side.values[i];
  if (!value.is_array()) refuse(side, i, wanted);
  for (const Json& text : value)
    if (!text.is_string()) refuse(side, i, wanted);
  return value.get<Texts>();
}

Texts labels_at(const Side& side, std::size_t i) {
  Texts labels = texts_at(side, i, "a list of labels");
  for (std::string& label : labels) text::to_nfc(label);
  return labels;
}

Texts answers_at(const Side& side, std::size_t i) {
  if (side.values[i].is_string()) return {side.values[i].get<std::string>()};
  return texts_at(side, i, "a text or a list of texts");
}

double of_counts(std::string_view metric, const ClassCounts& c) {
  if (metric == "accuracy") return accuracy(c);
  if (metric == "matthews") return matthews(c);
  PrecisionRecall score = micro_average(c);
  if (!metric.ends_with("-micro")) {
    std::vector<PrecisionRecall> there;
    for (std::size_t i = 0; i < c.classes(); ++i)
      if (c.predicted(i) + c.wanted(i) > 0)
        there.push_back(precision_recall(c.right(i), c.predicted(i), c.wanted(i)));
    score = metric.ends_with("-macro") ? macro_average(there) : weighted_average(there);
  }
  if (metric.starts_with("precision")) return score.precision;
  return metric.starts_with("recall") ? score.recall : score.f1;
}

constexpr std::size_t kNoClass = static_cast<std::size_t>(-1);

struct Classes {
  Texts names;
  std::vector<std::size_t> predicted, wanted;  // indices into `names`; predicted may be kNoClass
};

// Maps labels to class indices. The prediction "" counts as kNoClass unless some reference is "".
Classes classes_of(const Side& predicted, const Side& wanted) {
  std::map<std::string, std::size_t> numbers;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) numbers[label_at(wanted, i)] = 0;
  const bool has_empty = numbers.contains("");
  for (std::size_t i = 0; i < predicted.values.size(); ++i)
    if (const std::string label = label_at(predicted, i); has_empty || !label.empty())
      numbers[label] = 0;
  Classes out;
  for (auto& [name, number] : numbers) {
    number = out.names.size();
    out.names.push_back(name);
  }
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    const auto found = numbers.find(label_at(predicted, i));
    out.predicted.push_back(found == numbers.end() ? kNoClass : found->second);
    out.wanted.push_back(numbers[label_at(wanted, i)]);
  }
  return out;
}

// Returns the set with this class, or an empty set for kNoClass.
Examples set_of(const std::size_t& number) { return {&number, number == kNoClass ? 0u : 1u}; }

// The class indices of each example, ascending.
using ClassSets = std::vector<std::vector<std::size_t>>;

struct SetsOfClasses {
  Texts names;  // sorted
  ClassSets predicted, wanted;
};

// Maps lists of labels to class indices; adds new labels to `numbers`.
ClassSets class_sets(const Side& side, std::map<std::string, std::size_t>& numbers) {
  ClassSets out;
  for (std::size_t i = 0; i < side.values.size(); ++i) {
    std::set<std::size_t> classes;
    const Texts labels = labels_at(side, i);
    for (const std::string& label : labels)
      classes.insert(numbers.try_emplace(label, numbers.size()).first->second);
    if (classes.size() != labels.size()) refuse(side, i, "a list of different labels");
    out.emplace_back(classes.begin(), classes.end());
  }
  return out;
}

bool are_lists(const Side& side) { return !side.values.empty() && side.values.front().is_array(); }

SetsOfClasses sets_of_classes(const Side& predicted, const Side& wanted) {
  std::map<std::string, std::size_t> numbers;
  (void)class_sets(predicted, numbers);
  (void)class_sets(wanted, numbers);
  SetsOfClasses out;
  for (auto& [name, number] : numbers) {
    number = out.names.size();
    out.names.push_back(name);
  }
  out.predicted = class_sets(predicted, numbers);
  out.wanted = class_sets(wanted, numbers);
  return out;
}

// Returns a multi-label metric.
ScoreOf set_metric(std::string_view metric, const Side& predicted, const Side& wanted) {
  if (metric == "matthews")
    throw UsageError("metrics: matthews does not support examples with lists of labels",
                     "use another metric, such as f1-macro");
  return
      [metric = std::string(metric), all = sets_of_classes(predicted, wanted)](Examples examples) {
        ClassCounts counts(all.names.size());
        for (const std::size_t e : examples) counts.add(all.predicted[e], all.wanted[e]);
        return of_counts(metric, counts);
      };
}

ScoreOf class_metric(std::string_view metric, const Side& predicted, const Side& wanted) {
  if (are_lists(wanted)) return set_metric(metric, predicted, wanted);
  return [metric = std::string(metric), c = classes_of(predicted, wanted)](Examples examples) {
    ClassCounts counts(c.names.size());
    for (const std::size_t e : examples) counts.add(set_of(c.predicted[e]), set_of(c.wanted[e]));
    return of_counts(metric, counts);
  };
}

// Converts single labels to sets of at most one class.
SetsOfClasses single_sets(const Side& predicted, const Side& wanted) {
  const Classes all = classes_of(predicted, wanted);
  SetsOfClasses out{.names = all.names, .predicted = {}, .wanted = {}};
  const auto add = [](const std::size_t& number, ClassSets& to) {
    const Examples set = set_of(number);
    to.emplace_back(set.begin(), set.end());
  };
  for (const std::size_t& c : all.predicted) add(c, out.predicted);
  for (const std::size_t& c : all.wanted) add(c, out.wanted);
  return out;
}

// Throws UsageError for a label that no example has. metric_list() does not split "f1:yes,acuracy",
// because "yes,acuracy" could be a label. If the part before a comma ("yes") is a known label, the
// message reports the rest ("acuracy") as an unknown metric instead.
[[noreturn]] void refuse_label(std::string_view metric, const std::string& label,
                               const Texts& known) {
  for (auto comma = label.find(','); comma != std::string::npos; comma = label.find(',', comma + 1))
    if (std::ranges::find(known, trim(label.substr(0, comma))) != known.end())
      refuse_metric(trim(std::string_view(label).substr(comma + 1)));
  throw UsageError(str("--metric ", metric, ": no example has the label '", label, "'"),
                   did_you_mean(label, known));
}

// Returns a metric of one class against the rest, such as "f1:yes".
ScoreOf one_class_metric(std::string_view metric, const Side& predicted, const Side& wanted) {
  const auto colon = metric.find(':');
  const std::string label = text::nfc(std::string(metric.substr(colon + 1)));
  const std::string kind(metric.substr(0, colon));
  const SetsOfClasses all =
      are_lists(wanted) ? sets_of_classes(predicted, wanted) : single_sets(predicted, wanted);
  const auto found = std::ranges::find(all.names, label);
  if (found == all.names.end()) refuse_label(metric, label, all.names);
  // For each example, whether the class was predicted, and whether it is among the correct ones.
  std::vector<bool> predicted_so, wanted_so;
  const auto c = static_cast<std::size_t>(found - all.names.begin());
  for (std::size_t e = 0; e < all.wanted.size(); ++e) {
    predicted_so.push_back(std::ranges::binary_search(all.predicted[e], c));
    wanted_so.push_back(std::ranges::binary_search(all.wanted[e], c));
  }
  return [kind, predicted_so, wanted_so](Examples examples) {
    std::int64_t right = 0, said = 0, is = 0;
    for (const std::size_t e : examples) {
      said += predicted_so[e] ? 1 : 0;
      is += wanted_so[e] ? 1 : 0;
      right += predicted_so[e] && wanted_so[e] ? 1 : 0;
    }
    const PrecisionRecall score = precision_recall(right, said, is);
    return kind == "precision" ? score.precision : kind == "recall" ? score.recall : score.f1;
  };
}

// Probabilities, or other scores, of each class, read from predictions that are objects.
struct ClassScores {
  Texts names;
  std::vector<std::vector<double>> scores;  // [class][example]
};

ClassScores class_scores(const Side& predicted) {
  ClassScores out;
  for (std::size_t i = 0; i < predicted.values.size(); ++i) {
    const Json& given = predicted.values[i];
    if (!given.is_object() || given.size() < 2)
      refuse(predicted, i, "an object with the probabilities of at least two classes");
    std::map<std::string, const Json*> all;
    for (const auto& [name, score] : given.items()) all[text::nfc(name)] = &score;
    if (i == 0)
      for (const auto& [name, score] : all) out.names.push_back(name);
    out.scores.resize(out.names.size());
    for (std::size_t c = 0; c < out.names.size(); ++c) {
      const auto score = all.find(out.names[c]);
      if (given.size() != out.names.size() || score == all.end() || !score->second->is_number())
        refuse(predicted, i, str("a probability of each of ", join(out.names, ", ")));
      out.scores[c].push_back(score->second->get<double>());
    }
  }
  return out;
}

ScoreOf class_auc_metric(std::string_view metric, const Side& predicted, const Side& wanted) {
  const ClassScores all = class_scores(predicted);
  std::vector<std::size_t> right;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    const auto found = std::ranges::find(all.names, label_at(wanted, i));
    if (found == all.names.end()) refuse(wanted, i, "one of " + join(all.names, ", "));
    right.push_back(static_cast<std::size_t>(found - all.names.begin()));
  }
  return [all, right, is_weighted = metric == "auc-weighted"](Examples examples) {
    std::vector<std::vector<double>> scores(all.names.size());
    std::vector<std::size_t> is;
    for (const std::size_t e : examples) {
      is.push_back(right[e]);
      for (std::size_t c = 0; c < scores.size(); ++c) scores[c].push_back(all.scores[c][e]);
    }
    return roc_auc_of_classes(scores, is, is_weighted);
  };
}

// Returns the mean of the scores of the examples.
ScoreOf mean_of(const std::vector<double>& scores) {
  return [scores](Examples examples) {
    double sum = 0;
    for (const std::size_t e : examples) sum += scores[e];
    return sum / static_cast<double>(examples.size());
  };
}

// Returns the mean of the predictions, which are reciprocal ranks.
ScoreOf rank_metric(std::string_view, const Side& predicted, const Side& wanted) {
  std::vector<double> given;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) given.push_back(number_at(predicted, i));
  return mean_of(given);
}

ScoreOf number_metric(std::string_view metric, const Side& predicted, const Side& wanted) {
  const auto score = metric == "pearson"             ? pearson
                     : metric == "spearman"          ? spearman
                     : metric == "auc"               ? roc_auc
                     : metric == "average-precision" ? average_precision_score
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

double rouge_f1(std::string_view metric, const std::string& given, const std::string& right) {
  const Stems stems = metric.ends_with("-stem") ? Stems::porter : Stems::none;
  if (metric.starts_with("rougeLsum")) return rouge_l_sum(given, right, stems).f1;
  if (metric.starts_with("rougeL")) return rouge_l(given, right, stems).f1;
  return rouge_n(given, right, metric.starts_with("rouge1") ? 1 : 2, stems).f1;
}

double answer_score(std::string_view metric, const std::string& given, const Texts& right) {
  if (metric == "exact-match") return squad_score(given, right).exact;
  if (metric == "squad-f1") return squad_score(given, right).f1;
  double best = 0;
  for (const std::string& text : right) best = std::max(best, rouge_f1(metric, given, text));
  return best;
}

ScoreOf answer_metric(std::string_view metric, const Side& predicted, const Side& wanted) {
  std::vector<double> scores;
  for (std::size_t i = 0; i < wanted.values.size(); ++i)
    scores.push_back(answer_score(metric, text_at(predicted, i), answers_at(wanted, i)));
  return mean_of(scores);
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
    const Texts p = labels_at(predicted, i);
    const Texts w = labels_at(wanted, i);
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
                              {"precision:LABEL", one_class_metric},
                              {"recall:LABEL", one_class_metric},
                              {"f1:LABEL", one_class_metric},
                              {"pearson", number_metric},
                              {"spearman", number_metric},
                              {"mse", number_metric},
                              {"auc", number_metric},
                              {"average-precision", number_metric},
                              {"mrr", rank_metric},
                              {"auc-macro", class_auc_metric},
                              {"auc-weighted", class_auc_metric},
                              {"exact-match", answer_metric},
                              {"squad-f1", answer_metric},
                              {"rouge1", answer_metric},
                              {"rouge2", answer_metric},
                              {"rougeL", answer_metric},
                              {"rougeLsum", answer_metric},
                              {"rouge1-stem", answer_metric},
                              {"rouge2-stem", answer_metric},
                              {"rougeL-stem", answer_metric},
                              {"rougeLsum-stem", answer_metric},
                              {"bleu", bleu_metric},
                              {"entity-precision", entity_metric},
                              {"entity-recall", entity_metric},
                              {"entity-f1", entity_metric}};

// Returns whether `metric` is `name`, or an instance of it: "f1:yes" of "f1:LABEL".
bool is_named(std::string_view metric, std::string_view name) {
  const auto colon = name.find(':');
  return colon == std::string_view::npos
             ? metric == name
             : metric.starts_with(name.substr(0, colon + 1)) && metric.size() > colon + 1;
}

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
    if (is_named(metric, named.name))
      return named.make(metric, {"prediction", predicted}, {"reference", wanted});
  refuse_metric(metric);
}

WordLabels labels_of_words(const JsonValues& predicted, const JsonValues& wanted) {
  expect_pairs(predicted, wanted);
  const Side said{"prediction", predicted}, is{"reference", wanted};
  WordLabels out;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (const Side* side : {&said, &is})
      if (!side->values[i].is_array()) refuse(*side, i, "a list of labels of words");
    out.begin.push_back(out.wanted.size());
    for (std::size_t w = 0; w < wanted[i].size(); ++w) {
      const bool missing = w >= predicted[i].size() || predicted[i][w].is_null();
      out.predicted.push_back(missing ? Json("") : predicted[i][w]);
      out.wanted.push_back(wanted[i][w]);
    }
  }
  out.begin.push_back(out.wanted.size());
  return out;
}

bool is_over_words(std::string_view metric) { return !metric.starts_with("entity-"); }

ScoreOf metric_of_words(std::string_view metric, const JsonValues& predicted,
                        const JsonValues& wanted) {
  if (!is_over_words(metric)) return metric_of(metric, predicted, wanted);
  const WordLabels words = labels_of_words(predicted, wanted);
  return [score = metric_of(metric, words.predicted, words.wanted),
          begin = words.begin](Examples examples) {
    std::vector<std::size_t> chosen;
    for (const std::size_t e : examples)
      for (std::size_t w = begin[e]; w < begin[e + 1]; ++w) chosen.push_back(w);
    return score(chosen);
  };
}

ScoreOf metric_of(std::string_view metric, const JsonValues& predicted, const JsonValues& wanted,
                  bool of_words) {
  return of_words ? metric_of_words(metric, predicted, wanted)
                  : metric_of(metric, predicted, wanted);
}

std::string predicted_field(std::string_view metric) {
  return metric == "auc-macro" || metric == "auc-weighted" ? "probabilities" : "prediction";
}

NamedCounts counts_of(const JsonValues& predicted, const JsonValues& wanted) {
  expect_pairs(predicted, wanted);
  const Side p{"prediction", predicted}, w{"reference", wanted};
  const bool lists = are_lists(w);
  const SetsOfClasses all = lists ? sets_of_classes(p, w) : single_sets(p, w);
  NamedCounts out{all.names, ClassCounts(all.names.size()), lists};
  for (std::size_t e = 0; e < wanted.size(); ++e) out.counts.add(all.predicted[e], all.wanted[e]);
  return out;
}

std::vector<std::string> metric_list(std::string_view list) {
  std::vector<std::string> out;
  for (const std::string_view piece : split(list, ',')) {
    const bool is_name = std::ranges::any_of(
        kMetrics, [&](const Named& metric) { return is_named(trim(piece), metric.name); });
    if (is_name || out.empty() || out.back().find(':') == std::string::npos)
      out.emplace_back(trim(piece));
    else
      out.back() += str(",", piece);
  }
  for (std::string& name : out) name = trim(name);
  return out;
}

NamedCounts counts_of_words(const JsonValues& predicted, const JsonValues& wanted) {
  const WordLabels words = labels_of_words(predicted, wanted);
  return counts_of(words.predicted, words.wanted);
}

}  // namespace smelt::evaluation
