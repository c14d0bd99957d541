#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/number_format.h"
#include "base/progress.h"
#include "base/stop_signal.h"
#include "cli/commands/commands.h"
#include "cli/commands/row_columns.h"
#include "cli/options/form_flags.h"
#include "cli/options/number_check.h"
#include "evaluation/metrics/named.h"
#include "evaluation/tracking/compress_page.h"
#include "evaluation/tracking/page.h"
#include "io/filesystem/file.h"
#include "pipeline/compression/compress_report.h"

namespace smelt::cli {
namespace {

struct ReportFlags {
  pipeline::CompressReportJob job;
  RowColumns columns;
  std::string metrics, out = "compress.html";
  bool alone = true, json = false;
};

// Returns this process's command line, joined by spaces.
std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string out;
  for (std::string word; std::getline(file, word, '\0');) out += (out.empty() ? "" : " ") + word;
  return out;
}

void run_report(ReportFlags& f, const CLI::App& command) {
  take_columns(f.columns, command, f.job.test);
  f.job.metrics = evaluation::metric_list(f.metrics);
  std::erase(f.job.metrics, "");
  evaluation::check_page_place("compress report", f.out);
  f.job.latency.lengths_told = command.count("--lengths") > 0;
  if (f.alone) f.job.smelt = pipeline::own_program();
  f.job.command = own_command();
  f.job.version = SMELT_VERSION;
  const StopSignal stop("compress: stopping\n");
  const OrderedJson report = pipeline::compress_report(f.job);
  io::write_file(f.out, evaluation::compress_page(report));
  if (f.json)
    std::cout << report.dump(-1, ' ', false, JsonInvalidUtf8::replace) << "\n";
  else
    std::cout << pipeline::compress_report_text(report);
  log_info("compress report: {}", f.out);
}

void add_columns(CLI::App& command, ReportFlags& f) {
  pipeline::RowsToPredict& test = f.job.test;
  command
      .add_option("--input", test.files.input,
                  "labelled test rows (JSONL, TSV, CSV, Parquet, SQuAD's JSON) that neither "
                  "training nor compression has seen")
      ->required();
  command.add_option(
      "--dev", f.job.dev,
      "development rows that were used to choose models; scored in addition to the test rows");
  add_column_flags(command, f.columns, test);
  command.add_option("--metric", f.metrics,
                     "metrics, as in `smelt metrics`; default: by the type of problem");
}

void add_sizes(CLI::App& command, ReportFlags& f) {
  pipeline::LatencyJob& latency = f.job.latency;
  command.add_option("--batches", latency.batches, "batch sizes to time")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--lengths", latency.lengths, "text lengths to time, in tokens")
      ->delimiter(',')
      ->capture_default_str();
  const auto number = [&](const char* name, auto& value, double least, const char* help) {
    command.add_option(name, value, help)->check(number_from(least))->capture_default_str();
  };
  number("--rounds", latency.rounds, 1,
         "timing rounds per size; the models take turns in each round");
  number("--answer-tokens", f.job.answer_tokens, 1,
         "for a T5: number of tokens to generate in timings");
  number("--batch", f.job.batch_size, 1, "rows per batch when scoring");
  number("--samples", f.job.resample.samples, 1, "number of bootstrap samples for intervals");
  number("--seed", f.job.resample.seed, 0, "random seed of the samples");
  command.add_flag("!--no-processes", f.alone,
                   "do not measure load time and memory, which need separate processes");
  add_device_flag(command, f.job.device);
}

void add_page(CLI::App& compress) {
  auto f = std::make_shared<ReportFlags>();
  auto* command = compress.add_subcommand(
      "report", "compare models on one HTML page: accuracy, size and speed");
  command->add_option("base", f->job.base, "the original model")->required();
  command->add_option("model", f->job.models, "the compressed models")->required();
  command->add_option(
      "--student", f->job.students,
      "a dense model of equal size, trained from scratch, as a baseline for pruning");
  add_columns(*command, *f);
  add_sizes(*command, *f);
  command->add_option("--out", f->out, "the HTML file to write")->capture_default_str();
  command->add_flag("--json", f->json, "print one JSON object instead of lines");
  command->callback([f, command] { run_report(*f, *command); });
}

struct LoadFlags {
  std::string model;
  pipeline::ComparedModel::Options options = {
      .stored = {}, .batch_size = 1, .answer_tokens = 16, .rows = {}};
  std::int64_t length = 128;
  bool json = false;
};

void run_load(const LoadFlags& f) {
  const auto begin = Clock::now();
  pipeline::ComparedModel model("compress load", f.model, f.options);
  const double loaded = seconds_since(begin);
  (void)model.seconds(f.options.batch_size, std::min(f.length, model.most_tokens()));
  const OrderedJson out{
      {"load_seconds", loaded},
      {"first_answer_seconds", seconds_since(begin)},
      {"peak_bytes", peak_memory()},
      {"weights_seconds", pipeline::seconds_of_weights(f.model, f.options.stored.device)},
  };
  if (f.json)
    std::cout << out.dump() << "\n";
  else
    std::cout << f.model << ": loaded in " << rounded(loaded, 3) << " s, first outputs after "
              << rounded(out["first_answer_seconds"].get<double>(), 3)
              << " s, weights copied to the device in "
              << rounded(out["weights_seconds"].get<double>(), 3) << " s; peak memory "
              << bytes_text(out["peak_bytes"].get<double>()) << "\n";
}

void add_load(CLI::App& compress) {
  auto f = std::make_shared<LoadFlags>();
  auto* command = compress.add_subcommand(
      "load", "measure how long a model takes to load, and its peak memory");
  command->add_option("model", f->model, "a fine-tuned model's folder")->required();
  command->add_option("--batch", f->options.batch_size, "number of texts in the first batch")
      ->check(number_from(1))
      ->capture_default_str();
  command->add_option("--length", f->length, "tokens per text")
      ->check(number_from(2))
      ->capture_default_str();
  command
      ->add_option("--answer-tokens", f->options.answer_tokens,
                   "for a T5: number of tokens to generate")
      ->check(number_from(1))
      ->capture_default_str();
  add_device_flag(*command, f->options.stored.device);
  command->add_flag("--json", f->json, "print a JSON object instead of a line");
  command->callback([f] { run_load(*f); });
}

}  // namespace

void add_compress_report_commands(CLI::App& compress) {
  add_page(compress);
  add_load(compress);
}

}  // namespace smelt::cli
