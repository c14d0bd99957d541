#include "cli/cmd_inspect.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/cmd_tokens.h"
#include "cli/show_example.h"
#include "data/data_paths.h"
#include "data/inspect.h"
#include "data/record_features.h"
#include "tokenize/vocabulary.h"

namespace smelt {
namespace {

using nlohmann::ordered_json;

std::string percent(std::uint64_t part, std::uint64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

std::string ratio(std::uint64_t part, std::uint64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f",
                whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

// A bar for each of at most `most` runs of equal width.
std::string histogram(const std::vector<std::uint64_t>& counts, std::size_t most) {
  constexpr std::size_t kWidth = 40;
  const std::size_t run = (counts.size() + most - 1) / most;
  std::vector<std::uint64_t> runs((counts.size() + run - 1) / run);
  for (std::size_t i = 0; i < counts.size(); ++i) runs[i / run] += counts[i];
  const std::uint64_t largest = std::max<std::uint64_t>(1, std::ranges::max(runs));
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t last = std::min(counts.size(), (i + 1) * run) - 1;
    const auto width = static_cast<std::size_t>((runs[i] * kWidth + largest - 1) / largest);
    char label[64];
    std::snprintf(label, sizeof label, "  %5zu", i * run);
    out += label;
    std::snprintf(label, sizeof label, run == 1 ? "      " : "-%-5zu", last);
    out += str(label, " ", std::string(width, '#'), std::string(kWidth - width, ' '), " ", runs[i],
               "\n");
  }
  return out;
}

ordered_json as_json(const FeatureStatistics& s) {
  ordered_json out{{"name", s.feature.name},   {"type", kind_name(s.feature.kind)},
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

void put_bert(const BertStatistics& s, SpecialIds ids, ordered_json& out) {
  out["seq_length"] = s.shape.seq_length;
  out["max_predictions"] = s.shape.max_predictions;
  out["tokens"] = s.tokens;
  out["predictions"] = s.predictions;
  out["random_next"] = s.random_next;
  out["largest_id"] = s.largest_id;
  out["lengths"] = s.lengths;
  out["mask_positions"] = s.mask_positions;
  out["masks"] = nullptr;
  if (ids.mask >= 0)
    out["masks"] = {{"masked", s.masks.masked}, {"kept", s.masks.kept}, {"random", s.masks.random}};
  out["unknown"] = nullptr;
  if (ids.unknown >= 0) out["unknown"] = s.unknown;
}

ordered_json as_json(const RecordStatistics& s) {
  ordered_json out{{"files", s.files}, {"records", s.records}, {"bytes", s.bytes}};
  if (s.bert) put_bert(*s.bert, s.ids, out);
  out["features"] = ordered_json::array();
  for (const FeatureStatistics& feature : s.features) out["features"].push_back(as_json(feature));
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

std::string masks_text(const BertStatistics& s, SpecialIds ids) {
  std::string out = str("masked:      ", percent(s.predictions, s.tokens), " of the tokens, ");
  if (ids.mask < 0) return out + "give --vocab to see how\n";
  return out + str("of which ", percent(s.masks.masked, s.predictions), " [MASK], ",
                   percent(s.masks.kept, s.predictions), " kept, ",
                   percent(s.masks.random, s.predictions), " random\n");
}

std::string checks_text(const RecordStatistics& s) {
  std::string out = str("description: ", s.description.empty() ? "none" : s.description, "\n");
  for (const std::string& line : s.contradictions) out += str("  contradiction: ", line, "\n");
  out += str("bad records: ", s.bad_records, "\n");
  if (s.first_bad)
    out += str("  first: ", s.first_bad->file, ", record ", s.first_bad->record, " at offset ",
               s.first_bad->offset, "\n  ", s.first_bad->fault, "\n");
  return out;
}

std::string bert_text(const BertStatistics& s, SpecialIds ids, std::uint64_t good) {
  const std::uint64_t places = good * static_cast<std::uint64_t>(s.shape.seq_length);
  std::string out =
      str("sequences:   ", s.shape.seq_length, " tokens, ", percent(places - s.tokens, places),
          " padding\n", "predictions: ", ratio(s.predictions, good), " a sequence, at most ",
          s.shape.max_predictions, "\n", masks_text(s, ids),
          "random next: ", percent(s.random_next, good), "\n", "largest id:  ", s.largest_id, "\n");
  if (ids.unknown >= 0)
    out += str("unknown:     ", percent(s.unknown, s.tokens), " of the tokens\n");
  return out;
}

std::string histograms(const BertStatistics& s) {
  return str("tokens of a sequence, without padding:\n", histogram(s.lengths, 17),
             "predictions of a sequence:\n", histogram(s.mask_positions, 24));
}

std::string feature_text(const FeatureStatistics& s) {
  std::string out =
      str("  ", s.feature.name, ": ", s.feature.count, " ", kind_name(s.feature.kind));
  const bool bytes = s.feature.kind == ExampleKind::bytes;
  const auto add = [&](const auto& range) {
    if (range)
      out +=
          str(bytes ? " of " : ", ", range->smallest, " to ", range->largest,
              bytes ? " bytes, " : ", ", percent(s.zeros, s.values), bytes ? " empty" : " zeros");
  };
  add(s.integers);
  add(s.reals);
  if (s.not_finite > 0) out += str(", ", s.not_finite, " not finite");
  return out + "\n";
}

std::string as_text(const RecordStatistics& s) {
  std::string out =
      str("records:     ", s.records, " in ", s.files, " files, ", s.bytes, " bytes\n");
  if (s.bert) {
    out += bert_text(*s.bert, s.ids, s.records - s.bad_records);
  } else {
    out += "features of a record:\n";
    for (const FeatureStatistics& feature : s.features) out += feature_text(feature);
  }
  return out + checks_text(s) + (s.bert ? histograms(*s.bert) : "");
}

void print(const RecordStatistics& statistics, const InspectOptions& options, bool json) {
  std::optional<Vocabulary> vocabulary;
  if (!options.vocab.empty()) vocabulary = Vocabulary::load(options.vocab);
  const bool colour = !json && ::isatty(STDOUT_FILENO) == 1;
  std::vector<std::string> samples;
  for (const RecordSample& sample : statistics.samples)
    samples.push_back(sample.bert ? show_example(sample.place, BertRow(*sample.bert),
                                                 vocabulary ? &*vocabulary : nullptr, colour)
                                  : show_features(sample.place, sample.example,
                                                  vocabulary ? &*vocabulary : nullptr));
  if (json) {
    ordered_json out = as_json(statistics);
    if (options.samples > 0) out["samples"] = samples;
    std::cout << out.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
    return;
  }
  std::cout << as_text(statistics);
  if (!samples.empty() && statistics.bert) std::cout << example_legend(colour);
  for (const std::string& sample : samples) std::cout << sample;
}

void inspect(const InspectOptions& options, bool json) {
  if (holds_tokens(data_paths(options.input, "inspect").front()))
    return print_token_statistics(options, json);
  const RecordStatistics statistics = inspect_records(options);
  print(statistics, options, json);
  if (statistics.bad_records == 0) return;
  throw UsageError(str("inspect: ", statistics.bad_records, " of ", statistics.records,
                       " records are bad, see above"),
                   "make those files again");
}

}  // namespace

void add_data_inspect_command(CLI::App& data) {
  auto o = std::make_shared<InspectOptions>();
  auto json = std::make_shared<bool>(false);
  auto* command = data.add_subcommand(
      "inspect", "count, check and show what record files, token stores and snapshot folders hold");
  command->add_option("input", o->input, "files, folders or patterns, separated by commas")
      ->required();
  command->add_option("--vocab", o->vocab,
                      "of the examples or tokens: shows words, checks ids, counts BERT's masks");
  command->add_option("--vocab-size", o->vocab_size, "refuse ids from this number on");
  command->add_option("--samples", o->samples, "show so many examples, evenly spread")
      ->capture_default_str();
  command->add_option("--threads", o->threads, "0: all cores")->capture_default_str();
  command->add_flag("--json", *json, "print JSON");
  command->callback([o, json] { inspect(*o, *json); });
}

}  // namespace smelt
