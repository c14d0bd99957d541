#include <CLI/CLI.hpp>
#include <ctime>
#include <iostream>
#include <memory>

#include "base/clock.h"
#include "base/json.h"
#include "base/plural.h"
#include "cli/commands/commands.h"
#include "cli/options/json_output.h"
#include "cli/options/number_check.h"
#include "data/input_pipeline/data_paths.h"
#include "data/input_pipeline/example_source.h"
#include "data/input_pipeline/record_features.h"
#include "data/input_pipeline/record_index_file.h"
#include "data/input_pipeline/record_tokens.h"
#include "data/input_pipeline/text_to_text.h"
#include "io/formats/example_slots.h"

namespace smelt::cli {
namespace {

struct ReadingBench {
  std::string input;
  std::string objective;  // T5 objective that is applied to windows of tokens; empty: none
  std::int64_t batch = 256;
  double seconds = 3;
};

constexpr std::int64_t kWindowTokens = 512, kSentinels = 100;

constexpr std::int64_t kAnyNumber = std::int64_t{1} << 31;

// Returns the record format of windows: T5's inputs and targets, or plain windows.
data::RecordOptions bench_windows(const ReadingBench& o) {
  const auto ids = [](const char* name, std::int64_t length) {
    return io::Feature{name, compiler::DType::s32, {length}, kAnyNumber, "numbers below"};
  };
  if (o.objective.empty()) return {.input = o.input, .features = {ids("targets", kWindowTokens)}};
  const data::TextToText text{
      .objective = choose_of("bench: --objective", o.objective, data::kTextObjectives),
      .inputs_length = kWindowTokens,
      .sentinel = static_cast<std::int32_t>(kAnyNumber - 1),
      .sentinels = kSentinels};
  const data::TextLengths lengths = data::text_lengths(text, "bench: ");
  return {.input = o.input,
          .features = {ids("inputs", lengths.inputs), ids("targets", lengths.targets)},
          .windows = data::text_to_text(text)};
}

// Returns options that read the integer and real features of the first record, at most
// io::kMostSlots of them, with values of any range; for a token store, those of bench_windows().
data::RecordOptions bench_options(const ReadingBench& o) {
  if (data::holds_tokens(data::data_paths(o.input, "bench").front())) return bench_windows(o);
  io::Features features;
  for (const io::ExampleFeature& f :
       data::first_features(data::RecordIndex(data::record_files(o.input, "bench"))))
    if (features.size() < io::kMostSlots &&
        (f.kind == io::ExampleKind::integers || f.kind == io::ExampleKind::reals))
      features.push_back({.name = f.name,
                          .dtype = f.kind == io::ExampleKind::integers ? compiler::DType::s32
                                                                       : compiler::DType::f32,
                          .row = {static_cast<std::int64_t>(f.count)},
                          .limit = kAnyNumber,
                          .limit_name = "numbers below"});
  return {.input = o.input, .features = features};
}

// Reads batches on this thread until the time is over. Returns records per second of processor
// time, which depends less on other load than wall time.
double measure(const ReadingBench& o, const std::function<data::Batch(std::uint64_t)>& read) {
  std::uint64_t step = 0;
  const auto start = Clock::now();
  const std::clock_t processor_start = std::clock();
  do read(step++);
  while (seconds_since(start) < o.seconds);
  const double used = static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
  return static_cast<double>(step) * static_cast<double>(o.batch) / used;
}

OrderedJson bench_reading(const ReadingBench& o) {
  const auto start = Clock::now();
  const auto opened = data::open_examples(bench_options(o));
  const data::ExampleSource& source = *opened;
  OrderedJson out{{"records", source.size()}, {"open_s", seconds_since(start)}};
  (void)source.batch_in_order(0, o.batch);
  out["in_order_per_s"] =
      measure(o, [&](std::uint64_t step) { return source.batch_in_order(step, o.batch); });
  out["shuffled_per_s"] =
      measure(o, [&](std::uint64_t step) { return source.batch(step, o.batch); });
  return out;
}

}  // namespace

void add_data_index_command(CLI::App& data) {
  auto input = std::make_shared<std::string>();
  auto mask = std::make_shared<std::string>();
  auto* command = data.add_subcommand(
      "index", "check TFRecord files and write an index for each, so that they open faster");
  command->add_option("input", *input, "TFRecord files or patterns, separated by commas")
      ->required();
  command->add_option("--mask", *mask,
                      "feature that is 1 for each token of an example; default: input_mask, "
                      "if any");
  auto json = std::make_shared<bool>(false);
  add_json_flag(*command, *json);
  command->callback([input, mask, json] {
    print_result(*json, [&] {
      OrderedJson out{{"indexes", OrderedJson::array()}};
      for (const std::string& file : data::record_files(*input, "index")) {
        const auto records = data::index_records(file, *mask);
        std::cout << data::record_index_path(file) << ": " << counted(records, "record") << "\n";
        out["indexes"].push_back(
            {{"input", file}, {"path", data::record_index_path(file)}, {"records", records}});
      }
      return out;
    });
  });
}

void add_data_bench_command(CLI::App& data) {
  auto o = std::make_shared<ReadingBench>();
  auto* command = data.add_subcommand("bench",
                                      "measure how fast one thread reads data, in processor time, "
                                      "as JSON; token stores are read in windows of 512 tokens");
  command->add_option("input", o->input, "files, folders or patterns, separated by commas")
      ->required();
  command->add_option("--objective", o->objective,
                      "for token stores: make T5's inputs and targets from windows, as a recipe's "
                      "data.objective: span_corruption, iid_denoise_text or prefix_lm");
  command->add_option("--batch", o->batch, "examples per batch")
      ->check(number_from(1))
      ->capture_default_str();
  command->add_option("--seconds", o->seconds, "duration of each measurement")
      ->check(number_from(0.001))
      ->capture_default_str();
  command->callback([o] { std::cout << bench_reading(*o).dump() << "\n"; });
}

}  // namespace smelt::cli
