#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "cli/commands/cmd_tokens.h"
#include "cli/commands/commands.h"
#include "cli/options/number_check.h"
#include "data/input_pipeline/data_paths.h"
#include "data/input_pipeline/inspect.h"
#include "data/input_pipeline/record_features.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/objectives/objective_registry.h"
#include "pipeline/objectives/show_example.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::cli {
namespace {

OrderedJson as_json(const data::FeatureStatistics& s) {
  OrderedJson out{{"name", s.feature.name},   {"type", data::kind_name(s.feature.kind)},
                  {"count", s.feature.count}, {"values", s.values},
                  {"zeros", s.zeros},         {"not_finite", s.not_finite},
                  {"smallest", nullptr},      {"largest", nullptr}};
  const auto put = [&](const auto& range) {
    if (range) out["smallest"] = range->smallest, out["largest"] = range->largest;
  };
  put(s.integers);
  put(s.reals);
  return out;
}

OrderedJson as_json(const data::RecordStatistics& s, const pipeline::RecordReport* report) {
  OrderedJson out{{"files", s.files}, {"records", s.records}, {"bytes", s.bytes}};
  if (report != nullptr) report->put_json(*s.kind, s.ids, out);
  out["features"] = OrderedJson::array();
  for (const data::FeatureStatistics& feature : s.features)
    out["features"].push_back(as_json(feature));
  out["bad_records"] = s.bad_records;
  out["first_bad"] = nullptr;
  if (s.first_bad)
    out["first_bad"] = {{"file", s.first_bad->file},
                        {"record", s.first_bad->record},
                        {"offset", s.first_bad->offset},
                        {"fault", s.first_bad->fault}};
  out["description"] = nullptr;
  if (!s.description.empty()) out["description"] = s.description;
  out["contradictions"] = s.contradictions;
  return out;
}

std::string checks_text(const data::RecordStatistics& s) {
  std::string out = str("description: ", s.description.empty() ? "none" : s.description, "\n");
  for (const std::string& line : s.contradictions) out += str("  contradiction: ", line, "\n");
  out += str("bad records: ", s.bad_records, "\n");
  if (s.first_bad)
    out += str("  first: ", s.first_bad->file, ", record ", s.first_bad->record, " at offset ",
               s.first_bad->offset, "\n  ", s.first_bad->fault, "\n");
  return out;
}

std::string feature_text(const data::FeatureStatistics& s) {
  std::string out =
      str("  ", s.feature.name, ": ", s.feature.count, " ", data::kind_name(s.feature.kind));
  const bool bytes = s.feature.kind == io::ExampleKind::bytes;
  const auto add = [&](const auto& range) {
    if (range)
      out += str(bytes ? " of " : ", ", range->smallest, " to ", range->largest,
                 bytes ? " bytes, " : ", ", percent(share(s.zeros, s.values)),
                 bytes ? " empty" : " zeros");
  };
  add(s.integers);
  add(s.reals);
  if (s.not_finite > 0) out += str(", ", s.not_finite, " not finite");
  return out + "\n";
}

std::string as_text(const data::RecordStatistics& s, const pipeline::RecordReport* report) {
  std::string out =
      str("records:     ", s.records, " in ", counted(s.files, "file"), ", ", s.bytes, " bytes\n");
  if (report != nullptr) {
    out += report->summary(*s.kind, s.ids, s.records - s.bad_records);
  } else {
    out += "features of a record:\n";
    for (const data::FeatureStatistics& feature : s.features) out += feature_text(feature);
  }
  return out + checks_text(s) + (report != nullptr ? report->histograms(*s.kind) : "");
}

// Prints the statistics. `report` is null if the records are of unknown kind.
void print(const data::RecordStatistics& statistics, const pipeline::RecordReport* report,
           const data::InspectOptions& options, bool json) {
  std::optional<text::Vocabulary> vocabulary;
  std::unique_ptr<const text::Tokenizer> pieces;
  if (options.vocab.ends_with(".model"))
    pieces = text::load_tokenizer(options.vocab, {});
  else if (!options.vocab.empty())
    vocabulary = text::Vocabulary::load(options.vocab);
  const bool colour = !json && ::isatty(STDOUT_FILENO) == 1;
  std::vector<std::string> samples;
  for (const data::RecordSample& sample : statistics.samples)
    samples.push_back(
        report != nullptr
            ? report->sample(sample.place, *sample.row, vocabulary ? &*vocabulary : nullptr, colour)
            : pipeline::show_features(sample.place, sample.example,
                                      vocabulary ? &*vocabulary : nullptr, pieces.get()));
  if (json) {
    OrderedJson out = as_json(statistics, report);
    if (options.samples > 0) out["samples"] = samples;
    std::cout << out.dump(2, ' ', false, JsonInvalidUtf8::replace) << "\n";
    return;
  }
  std::cout << as_text(statistics, report);
  if (!samples.empty() && report != nullptr) std::cout << report->legend(colour);
  for (const std::string& sample : samples) std::cout << sample;
}

void inspect(data::InspectOptions options, bool json) {
  if (data::holds_tokens(data::data_paths(options.input, "inspect").front()))
    return print_token_statistics(options, json);
  std::vector<pipeline::RecordReport> reports;
  for (const pipeline::ObjectiveType* type : pipeline::objective_types())
    if (type->record_report.find != nullptr) {
      reports.push_back(type->record_report);
      options.kinds.push_back(type->record_report.find);
    }
  const data::RecordStatistics statistics = data::inspect_records(options);
  print(statistics, statistics.kind ? &reports[statistics.kind_number] : nullptr, options, json);
  if (statistics.bad_records == 0) return;
  throw UsageError(
      str("inspect: ", statistics.bad_records, " of ", counted(statistics.records, "record"),
          statistics.bad_records == 1 ? " is" : " are", " bad, see above"),
      "create those files again");
}

}  // namespace

void add_data_inspect_command(CLI::App& data) {
  auto o = std::make_shared<data::InspectOptions>();
  auto json = std::make_shared<bool>(false);
  auto* command = data.add_subcommand(
      "inspect",
      "count, check and show the contents of TFRecord files, token stores and snapshots");
  command->add_option("input", o->input, "files, folders or patterns, separated by commas")
      ->required();
  command->add_option(
      "--vocab", o->vocab,
      "vocabulary of the examples or tokens: shows words, checks ids, counts masks");
  command->add_option("--vocab-size", o->vocab_size, "report ids that are not below this number")
      ->check(number_from(1));
  command->add_option("--samples", o->samples, "number of examples to show, evenly spaced")
      ->capture_default_str();
  command->add_option("--threads", o->threads, "number of threads; 0: all cores")
      ->capture_default_str();
  command->add_flag("--json", *json, "print JSON");
  command->callback([o, json] { inspect(*o, *json); });
}

}  // namespace smelt::cli
