#include "cli/cmd_metrics.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "metrics/named.h"
#include "text/lines.h"

namespace smelt {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct MetricsJob {
  std::string predictions, references, against, metrics = "accuracy";
  std::string prediction = "prediction", reference = "label";
  ResampleOptions resample;
  bool json = false, report = false;
};

JsonValues read_field(const std::string& path, const std::string& field, const char* flag) {
  JsonValues out;
  LineReader lines(path);
  for (std::string line; lines.next(line);) {
    const json row = json::parse(line, nullptr, false);
    const std::string where = str(path, ":", lines.number());
    if (!row.is_object())
      throw UsageError(str(where, ": the line is no JSON object"), "give a file of JSONL");
    if (!row.contains(field))
      throw UsageError(str(where, ": has no field '", field, "'"),
                       str(flag, " names the field to read"));
    out.push_back(row.at(field));
  }
  return out;
}

ordered_json as_json(const Interval& i) {
  return {{"value", i.value}, {"low", i.low}, {"high", i.high}};
}

std::string as_text(const Interval& i) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(4) << i.value << "  [" << i.low << ", " << i.high << "]";
  return std::isnan(i.value) ? "undefined" : out.str();
}

struct Scored {
  ordered_json json = ordered_json::object();
  std::string text;
};

void score(const MetricsJob& job, const std::string& name, const JsonValues& predicted,
           const JsonValues& wanted, const std::optional<JsonValues>& against, Scored& out) {
  const ScoreOf of = metric_of(name, predicted, wanted);
  const Interval own = bootstrap(wanted.size(), of, job.resample);
  out.json[name] = as_json(own);
  out.text += str(std::left, std::setw(20), name, as_text(own), "\n");
  if (!against) return;
  const ScoreOf other = metric_of(name, *against, wanted);
  const Interval theirs = bootstrap(wanted.size(), other, job.resample);
  const PairedTest test = paired_bootstrap(wanted.size(), of, other, job.resample);
  out.json[name]["against"] = as_json(theirs);
  out.json[name]["difference"] = as_json(test.difference);
  out.json[name]["p_value"] = test.p_value;
  out.text += str(std::left, std::setw(20), "  against", as_text(theirs), "\n", std::setw(20),
                  "  difference", as_text(test.difference), "  p ", std::setprecision(3),
                  test.p_value, "\n");
  if (name != "accuracy") return;
  std::int64_t only_first = 0, only_second = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t one[] = {i};
    only_first += of(one) > other(one) ? 1 : 0;
    only_second += of(one) < other(one) ? 1 : 0;
  }
  const double p = mcnemar(only_first, only_second);
  out.json[name]["mcnemar"] = {{"only_first", only_first}, {"only_second", only_second}, {"p", p}};
  out.text += str("  right where the other is not: ", only_first, ", the other: ", only_second,
                  "; McNemar's p ", std::setprecision(3), p, "\n");
}

void run(const MetricsJob& job) {
  if (job.resample.samples < 0)
    throw UsageError(str("--samples: ", job.resample.samples, " is below 0"),
                     "0 leaves intervals out");
  const JsonValues predicted = read_field(job.predictions, job.prediction, "--prediction");
  const JsonValues wanted = read_field(job.references.empty() ? job.predictions : job.references,
                                       job.reference, "--reference");
  std::optional<JsonValues> against;
  if (!job.against.empty()) against = read_field(job.against, job.prediction, "--prediction");
  Scored out;
  for (const std::string_view name : split(job.metrics, ','))
    score(job, std::string(trim(name)), predicted, wanted, against, out);
  if (job.report) {
    const NamedConfusion c = confusion_of(predicted, wanted);
    const std::string report = classification_report(c.confusion, c.names);
    out.json["report"] = report;
    out.text += str("\n", report);
  }
  if (job.json)
    std::cout << ordered_json{{"examples", wanted.size()}, {"metrics", out.json}}.dump(
                     -1, ' ', false, ordered_json::error_handler_t::replace)
              << "\n";
  else
    std::cout << out.text;
}

}  // namespace

void add_metrics_command(CLI::App& app) {
  auto job = std::make_shared<MetricsJob>();
  auto* command = app.add_subcommand(
      "metrics", "scores of predictions against references, with 95 % intervals; two compared");
  command->add_option("predictions", job->predictions, "JSONL, one example a line")->required();
  command->add_option("references", job->references,
                      "JSONL in the same order; else beside the predictions");
  command->add_option("--metric", job->metrics,
                      str("separated by commas: ", join(metric_names(), ", ")));
  command->add_option("--prediction", job->prediction, "field of the predictions");
  command->add_option("--reference", job->reference, "field of the references");
  command->add_option("--against", job->against,
                      "another model's predictions: the difference and its paired test");
  command->add_option("--samples", job->resample.samples, "resampled sets of examples");
  command->add_option("--seed", job->resample.seed, "of the samples");
  command->add_flag("--report", job->report, "and each class, as scikit-learn prints them");
  command->add_flag("--json", job->json, "one JSON object");
  command->callback([job] { run(*job); });
}

}  // namespace smelt
