#include "evaluation/tracking/predictions.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "evaluation/metrics/entities.h"
#include "io/filesystem/folder.h"
#include "text/readers/lines.h"

namespace smelt::evaluation {
namespace {

constexpr std::size_t kBins = 10, kMostMistakes = 20, kMostClasses = 24;

enum class RowKind { classes, several, numbers, words, answers, texts };

RowKind kind_of(const Json& row) {
  const Json &label = row["label"], &said = row["prediction"];
  if (label.is_number()) return RowKind::numbers;
  if (row.contains("words")) return RowKind::words;
  if (said.is_array()) return RowKind::several;
  if (row.contains("probabilities")) return RowKind::classes;
  return label.is_array() ? RowKind::answers : RowKind::texts;
}

bool names_entities(const JsonValues& wanted) {
  return std::ranges::any_of(wanted, [](const Json& labels) {
    return std::ranges::any_of(labels, [](const Json& label) {
      return label.is_string() && is_entity_label(label.string());
    });
  });
}

std::vector<std::string> metrics_for(RowKind kind, const JsonValues& wanted) {
  switch (kind) {
    case RowKind::classes:
      return {"accuracy", "f1-macro", "matthews"};
    case RowKind::several:
      return {"accuracy", "f1-micro", "f1-macro"};
    case RowKind::numbers:
      return {"pearson", "spearman", "mse"};
    case RowKind::words:
      if (!names_entities(wanted)) return {"accuracy", "f1-macro"};
      return {"entity-f1", "entity-precision", "entity-recall"};
    case RowKind::texts:
      return {"accuracy", "squad-f1", "rougeL"};
    default:
      return {"exact-match", "squad-f1", "rougeL"};
  }
}

std::string words_of_json(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Returns the row's text: a single text, a pair, or a question and its context.
std::string text_of(const Json& row) {
  std::vector<std::string> parts;
  for (const char* name : {"question", "text", "pair", "context", "source"})
    if (const auto found = row.find(name); found != row.end() && found->is_string())
      parts.push_back(found->get<std::string>());
  return join(parts, " | ");
}

class FigureReader {
 public:
  void add(const Json& row) {
    if (predicted_.empty()) kind_ = kind_of(row);
    predicted_.push_back(row["prediction"]);
    wanted_.push_back(row["label"]);
    if (kind_ == RowKind::classes) {
      ++pairs_[{words_of_json(row["label"]), words_of_json(row["prediction"])}];
      add_probability(row);
    }
    if (kind_ == RowKind::answers && row.contains("probability")) add_answer(row);
  }

  std::optional<PredictionFigures> take() {
    if (predicted_.empty()) return std::nullopt;
    PredictionFigures& out = out_;
    out.examples = std::ssize(predicted_);
    for (const std::string& metric : metrics_for(kind_, wanted_))
      out.scores.push_back(
          {metric, bootstrap(predicted_.size(),
                             metric_of(metric, predicted_, wanted_, kind_ == RowKind::words))});
    put_table();
    for (CalibrationBin& bin : out.calibration) {
      const auto count = static_cast<double>(std::max<std::int64_t>(bin.examples, 1));
      bin.mean /= count;
      bin.right /= count;
      out.calibration_error += std::abs(bin.right - bin.mean) * static_cast<double>(bin.examples) /
                               static_cast<double>(out.examples);
    }
    return std::move(out);
  }

 private:
  void put_table() {
    std::map<std::string, std::size_t> numbers;
    for (const auto& [pair, count] : pairs_) numbers[pair.first] = numbers[pair.second] = 0;
    out_.classes = numbers.size();
    if (numbers.empty() || numbers.size() > kMostClasses) return;
    ClassTable table;
    for (auto& [name, number] : numbers) {
      number = table.names.size();
      table.names.push_back(name);
    }
    table.counts.assign(numbers.size(), std::vector<std::int64_t>(numbers.size()));
    for (const auto& [pair, count] : pairs_)
      table.counts[numbers[pair.first]][numbers[pair.second]] = count;
    out_.table = std::move(table);
  }
  void add_probability(const Json& row) {
    const auto probabilities = row.find("probabilities");
    const std::string said = words_of_json(row["prediction"]);
    if (probabilities == row.end() || !probabilities->is_object() || !probabilities->contains(said))
      return;
    const double sure = std::clamp(probabilities->at(said).get<double>(), 0.0, 1.0);
    const bool right = row["prediction"] == row["label"];
    if (out_.calibration.empty())
      for (std::size_t i = 0; i < kBins; ++i)
        out_.calibration.push_back(
            {.low = static_cast<double>(i) / kBins, .high = static_cast<double>(i + 1) / kBins});
    auto& bin = out_.calibration[std::min(kBins - 1, static_cast<std::size_t>(sure * kBins))];
    ++bin.examples;
    bin.mean += sure;
    bin.right += right ? 1 : 0;
    if (!right) add_mistake(row, sure);
  }
  void add_answer(const Json& row) {
    const JsonValues said{row["prediction"]}, wanted{row["label"]};
    constexpr std::size_t kFirst = 0;
    if (metric_of("exact-match", said, wanted)(std::span(&kFirst, 1)) == 0)
      add_mistake(row, row["probability"].get<double>());
  }
  void add_mistake(const Json& row, double sure) {
    out_.mistakes.push_back(
        {sure, words_of_json(row["prediction"]), words_of_json(row["label"]), text_of(row)});
    const auto surer = [](const Mistake& a, const Mistake& b) {
      return a.probability > b.probability;
    };
    std::ranges::stable_sort(out_.mistakes, surer);
    if (out_.mistakes.size() > kMostMistakes) out_.mistakes.pop_back();
  }

  RowKind kind_ = RowKind::classes;
  JsonValues predicted_, wanted_;
  // key: correct and predicted class
  std::map<std::pair<std::string, std::string>, std::int64_t> pairs_;
  PredictionFigures out_;
};

}  // namespace

std::optional<PredictionFigures> prediction_figures(const std::string& file) {
  if (!io::exists(file)) return std::nullopt;
  FigureReader reader;
  text::LineReader lines(file);
  for (std::string line; lines.next(line);) {
    const Json row = Json::parse_or_discard(line);
    if (!row.is_object() || !row.contains("label") || !row.contains("prediction"))
      throw UsageError(
          str(file, ":", lines.number(), ": expected an object with 'label' and 'prediction'"),
          "run `smelt eval` again, which rewrites the file");
    reader.add(row);
  }
  return reader.take();
}

}  // namespace smelt::evaluation
