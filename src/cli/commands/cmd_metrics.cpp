#include <CLI/CLI.hpp>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/number_format.h"
#include "cli/commands/commands.h"
#include "cli/options/json_output.h"
#include "cli/options/number_check.h"
#include "evaluation/metrics/command.h"
#include "evaluation/metrics/named.h"
#include "text/readers/lines.h"

namespace smelt::cli {
namespace {

// A threshold of --at-least: "accuracy=0.8".
struct Threshold {
  std::string metric;
  double least = 0;
};

struct MetricsJob {
  std::string predictions, references, against, metrics = "accuracy", command;
  std::string prediction = "prediction", reference = "label";
  evaluation::ResampleOptions resample;
  bool samples_given = false, prediction_given = false;
  std::vector<Threshold> thresholds;
  bool json = false, report = false;
};

Threshold threshold_of(const std::string& word) {
  const std::size_t equals = word.find('=');
  const auto number = equals == word.npos ? std::nullopt : number_in(word.substr(equals + 1));
  if (!number)
    throw UsageError(str("--at-least: '", word, "' is not METRIC=NUMBER"),
                     "write it as --at-least accuracy=0.8");
  return {word.substr(0, equals), *number};
}

evaluation::JsonValues read_field(const std::string& path, const std::string& field,
                                  const char* flag) {
  evaluation::JsonValues out;
  text::LineReader lines(path);
  for (std::string line; lines.next(line);) {
    if (trim(line).empty()) continue;
    const Json row = Json::parse_or_discard(line);
    const std::string where = str(path, ":", lines.number());
    if (!row.is_object())
      throw UsageError(str(where, ": the line is not a JSON object"), "use a JSONL file");
    if (!row.contains(field))
      throw UsageError(str(where, ": has no field '", field, "'"),
                       str(flag, " names another field",
                           field == "label" ? "; `smelt predict --label-field COLUMN` writes the "
                                              "labels together with the predictions"
                                            : ""));
    out.push_back(row.at(field));
  }
  return out;
}

// Returns true if the file's first row has "words": its predictions and labels are then lists with
// one label per word.
bool is_of_words(const std::string& path) {
  text::LineReader lines(path);
  for (std::string line; lines.next(line);) {
    if (trim(line).empty()) continue;
    const Json row = Json::parse_or_discard(line);
    return row.is_object() && row.contains("words");
  }
  return false;
}

// The fields of a file that metrics use. Each field is read when a metric first needs it.
class PredictedFields {
 public:
  explicit PredictedFields(const MetricsJob& job, const std::string& path)
      : job_(job), path_(path) {}

  const evaluation::JsonValues& of(const std::string& field) {
    auto found = fields_.find(field);
    if (found == fields_.end())
      found = fields_.emplace(field, read_field(path_, field, "--prediction")).first;
    return found->second;
  }
  // Returns the predictions for a metric: the field that --prediction names, or else the metric's
  // default field.
  const evaluation::JsonValues& of_metric(const std::string& metric) {
    return of(job_.prediction_given ? job_.prediction : evaluation::predicted_field(metric));
  }

 private:
  const MetricsJob& job_;
  std::string path_;
  std::map<std::string, evaluation::JsonValues> fields_;
};

struct Rows {
  PredictedFields predicted;
  evaluation::JsonValues wanted;
  std::optional<PredictedFields> against;
  bool of_words = false;

  evaluation::ScoreOf score_of(const std::string& metric, PredictedFields& fields) const {
    return evaluation::metric_of(metric, fields.of_metric(metric), wanted, of_words);
  }
};

// Returns the value, with its interval if there are samples.
OrderedJson as_json(const evaluation::Interval& i, std::int64_t samples) {
  if (samples == 0) return {{"value", i.value}};
  return {{"value", i.value}, {"low", i.low}, {"high", i.high}};
}

std::string as_text(const evaluation::Interval& i, std::int64_t samples) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(4) << i.value;
  if (samples > 0) out << "  [" << i.low << ", " << i.high << "]";
  return std::isnan(i.value) ? "undefined" : out.str();
}

struct Scored {
  OrderedJson json = OrderedJson::object();  // by metric name
  std::string text;
};

// One metric of the predictions and, with --against, of the other model's predictions.
struct MetricRow {
  std::string name;
  evaluation::ScoreOf of, other;
};

void score(const MetricsJob& job, const MetricRow& metric, std::size_t examples, Scored& out) {
  const auto& [name, of, other] = metric;
  const std::int64_t samples = job.resample.samples;
  const evaluation::Interval own = evaluation::bootstrap(examples, of, job.resample);
  out.json[name] = as_json(own, samples);
  out.text += str(padded(name, 20), as_text(own, samples), "\n");
  if (!other) return;
  const evaluation::Interval theirs = evaluation::bootstrap(examples, other, job.resample);
  const evaluation::PairedTest test =
      evaluation::paired_bootstrap(examples, of, other, job.resample);
  out.json[name]["against"] = as_json(theirs, samples);
  out.json[name]["difference"] = as_json(test.difference, samples);
  if (samples > 0) out.json[name]["p_value"] = test.p_value;
  out.text += str(padded("  against", 20), as_text(theirs, samples), "\n",
                  padded("  difference", 20), as_text(test.difference, samples));
  if (samples > 0) out.text += str("  p ", significant(test.p_value, 3));
  out.text += "\n";
}

// Counts the examples that only one of the two models predicts correctly.
void count_right(const MetricRow& metric, std::size_t examples, Scored& out) {
  const auto& [name, of, other] = metric;
  std::int64_t only_first = 0, only_second = 0;
  for (std::size_t i = 0; i < examples; ++i) {
    const std::size_t one[] = {i};
    only_first += of(one) > other(one) ? 1 : 0;
    only_second += of(one) < other(one) ? 1 : 0;
  }
  const double p = evaluation::mcnemar(only_first, only_second);
  out.json[name]["mcnemar"] = {{"only_first", only_first}, {"only_second", only_second}, {"p", p}};
  out.text += str("  only this model is right: ", only_first, ", only the other: ", only_second,
                  "; McNemar's p ", significant(p, 3), "\n");
}

void score_by_names(const MetricsJob& job, Rows& rows, Scored& out) {
  if (job.metrics.empty()) return;
  for (const std::string& name : evaluation::metric_list(job.metrics)) {
    const MetricRow metric{
        .name = name,
        .of = rows.score_of(name, rows.predicted),
        .other = rows.against ? rows.score_of(name, *rows.against) : evaluation::ScoreOf()};
    score(job, metric, rows.wanted.size(), out);
    if (name == "accuracy" && metric.other && !rows.of_words)
      count_right(metric, rows.wanted.size(), out);
  }
}

// Computes the metrics of --metric-command. If the command returns one number for all examples,
// intervals need one run of the command per bootstrap sample.
void score_by_command(MetricsJob job, Rows& rows, Scored& out) {
  if (job.command.empty()) return;
  const auto own =
      evaluation::command_metrics(job.command, rows.predicted.of(job.prediction), rows.wanted);
  const auto other = rows.against ? evaluation::command_metrics(
                                        job.command, rows.against->of(job.prediction), rows.wanted)
                                  : std::vector<evaluation::CommandMetric>();
  const std::int64_t samples = job.resample.samples;
  for (const evaluation::CommandMetric& metric : own) {
    const auto same = std::ranges::find(other, metric.name, &evaluation::CommandMetric::name);
    job.resample.samples = metric.is_of_each || job.samples_given ? samples : 0;
    score(job,
          {.name = metric.name,
           .of = metric.score,
           .other = same == other.end() ? evaluation::ScoreOf() : same->score},
          rows.wanted.size(), out);
  }
}

// Adds the metrics that thresholds name to the requested metrics.
void add_metrics_of_thresholds(MetricsJob& job) {
  auto wanted =
      job.metrics.empty() ? std::vector<std::string>() : evaluation::metric_list(job.metrics);
  const auto known = evaluation::metric_names();
  for (const Threshold& threshold : job.thresholds)
    if (std::ranges::find(known, threshold.metric) != known.end() &&
        std::ranges::find(wanted, threshold.metric) == wanted.end())
      wanted.push_back(threshold.metric);
  job.metrics = join(wanted, ",");
}

// Returns a message for each metric below its threshold: "accuracy is 0.5, below 0.8".
std::vector<std::string> failures(const MetricsJob& job, const Scored& scored) {
  std::vector<std::string> out;
  for (const Threshold& threshold : job.thresholds) {
    if (!scored.json.contains(threshold.metric))
      throw UsageError(str("--at-least: no metric '", threshold.metric, "' was computed"),
                       did_you_mean(threshold.metric, evaluation::metric_names()));
    const OrderedJson& value = scored.json.at(threshold.metric).at("value");
    const double found = value.is_number() ? value.get<double>() : std::nan("");
    if (!(found >= threshold.least))
      out.push_back(str(threshold.metric, " is ", rounded(found, 4), ", below ", threshold.least));
  }
  return out;
}

void run(MetricsJob job) {
  add_metrics_of_thresholds(job);
  if (job.resample.samples < 0)
    throw UsageError(str("--samples ", job.resample.samples, ": must be at least 0"),
                     "use --samples 0 for no intervals");
  Rows rows{.predicted = PredictedFields(job, job.predictions),
            .wanted = read_field(job.references.empty() ? job.predictions : job.references,
                                 job.reference, "--reference"),
            .against = {},
            .of_words = is_of_words(job.predictions)};
  if (rows.wanted.empty())
    throw UsageError(job.references.empty() ? str(job.predictions, ": has no predictions")
                                            : str(job.references, ": has no references"),
                     "name a file with one example per line");
  if (!job.against.empty()) rows.against.emplace(job, job.against);
  Scored out;
  score_by_names(job, rows, out);
  score_by_command(job, rows, out);
  if (job.report) {
    const evaluation::JsonValues& said = rows.predicted.of(job.prediction);
    const evaluation::NamedCounts c = rows.of_words ? evaluation::counts_of_words(said, rows.wanted)
                                                    : evaluation::counts_of(said, rows.wanted);
    const std::string report = evaluation::classification_report(
        c.counts, c.names, 2,
        c.are_lists ? evaluation::ReportOf::lists : evaluation::ReportOf::single_labels);
    out.json["report"] = report;
    out.text += str("\n", report);
  }
  const auto failed = failures(job, out);
  OrderedJson result{{"examples", rows.wanted.size()}, {"metrics", out.json}};
  if (!job.thresholds.empty()) result["passed"] = failed.empty();
  print_result(job.json, [&] {
    if (!job.json) std::cout << out.text;
    return result;
  });
  if (!failed.empty()) throw BelowThreshold(str("metrics: ", join(failed, "; ")));
}

}  // namespace

void add_metrics_command(CLI::App& app) {
  auto job = std::make_shared<MetricsJob>();
  auto* command = app.add_subcommand(
      "metrics", "compute metrics of predictions with 95 % intervals; compare two models");
  command->add_option("predictions", job->predictions, "predictions: JSONL, one example per line")
      ->required();
  command->add_option("references", job->references,
                      "references: JSONL in the same order; default: a field of the predictions");
  command->add_option(
      "--metric", job->metrics,
      str("metrics to compute, separated by commas: ", join(evaluation::metric_names(), ", ")));
  command->add_option(
      "--metric-command", job->command,
      "a program that computes a custom metric: reads JSON lines with prediction and reference, "
      "prints a number, a list with one number per line, or an object of these");
  command->add_option("--prediction", job->prediction,
                      "field of the predictions; default: prediction, or probabilities for "
                      "auc-macro and auc-weighted");
  command->add_option("--reference", job->reference, "field of the references");
  command->add_option("--against", job->against,
                      "another model's predictions: also show the difference and a paired test");
  command->add_option("--samples", job->resample.samples,
                      "number of bootstrap samples for intervals");
  command->add_option("--seed", job->resample.seed, "random seed of the samples");
  command->add_flag("--report", job->report,
                    "also print precision, recall and F1 of each class, as scikit-learn does");
  command->add_option_function<std::vector<std::string>>(
      "--at-least",
      [job](const std::vector<std::string>& words) {
        for (const std::string& word : words) job->thresholds.push_back(threshold_of(word));
      },
      "a threshold such as accuracy=0.8: exit status 3 if the metric is below it; may be given "
      "several "
      "times");
  add_json_flag(*command, job->json);
  command->callback([job, command] {
    job->samples_given = command->count("--samples") > 0;
    job->prediction_given = command->count("--prediction") > 0;
    const bool others = !job->command.empty() || !job->thresholds.empty();
    if (others && command->count("--metric") == 0) job->metrics.clear();
    run(*job);
  });
}

}  // namespace smelt::cli
