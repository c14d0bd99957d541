#include "cli/cmd_bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/philox.h"
#include "train/compiled_step.h"

namespace smelt {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  std::string model = "base", device = "cpu";
  std::int64_t devices = 1, batch = 8, seq = 128, predictions = 20, steps = 5;
  double dropout = 0.1;
};

const std::map<std::string, BertConfig>& models() {
  const auto config = [](std::int64_t layers, std::int64_t hidden) {
    BertConfig c;
    c.vocab_size = 30522;
    c.type_vocab_size = 2;
    c.hidden_size = hidden;
    c.num_hidden_layers = layers;
    c.num_attention_heads = hidden / 64;
    c.intermediate_size = 4 * hidden;
    return c;
  };
  static const std::map<std::string, BertConfig> kModels{{"tiny", config(2, 128)},
                                                         {"small", config(4, 512)},
                                                         {"base", config(12, 768)},
                                                         {"large", config(24, 1024)}};
  return kModels;
}

PretrainingConfig bench_config(const BenchOptions& o) {
  PretrainingConfig c;
  c.model = models().at(o.model);
  c.model.hidden_dropout_prob = c.model.attention_probs_dropout_prob = o.dropout;
  c.batch = {.batch_size = o.batch, .seq_length = o.seq, .max_predictions = o.predictions};
  c.schedule = {.learning_rate = 1e-4, .warmup_steps = 100, .total_steps = 10000, .power = 1.0};
  c.devices = o.devices;
  return c;
}

// Random tokens without padding.
BertBatch random_batch(const PretrainingConfig& c) {
  const auto B = c.batch.batch_size, S = c.batch.seq_length, P = c.batch.max_predictions;
  BertBatch b;
  b.batch = B, b.seq_length = S, b.max_predictions = P;
  std::uint64_t drawn = 0;
  const auto draw = [&](std::int64_t below) {
    return static_cast<std::int32_t>(philox(1, drawn++, 0)[0] % below);
  };
  for (std::int64_t i = 0; i < B * S; ++i) b.input_ids.push_back(draw(c.model.vocab_size));
  b.input_mask.assign(B * S, 1);
  b.segment_ids.assign(B * S, 0);
  for (std::int64_t i = 0; i < B * P; ++i) {
    b.masked_lm_positions.push_back(draw(S));
    b.masked_lm_ids.push_back(draw(c.model.vocab_size));
  }
  b.masked_lm_weights.assign(B * P, 1.0f);
  for (std::int64_t i = 0; i < B; ++i) b.next_sentence_labels.push_back(draw(2));
  return b;
}

nlohmann::json run_bench(const BenchOptions& o) {
  const auto begin = Clock::now();
  const auto seconds = [](auto from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  const PretrainingConfig config = bench_config(o);
  const auto client = open_device(o.device, static_cast<int>(o.devices));
  PretrainingProgram program;
  const auto built = Clock::now();
  build_train_step(config, program);
  const double build_s = seconds(built);
  const auto compiling = Clock::now();
  const CompiledStep step(client, config, program);
  const double compile_s = seconds(compiling);
  ModelState state = ModelState::fresh(*client, static_cast<int>(o.devices), program.parameters,
                                       StateParts::values_and_moments, config.seed);
  const BertBatch batch = random_batch(config);
  std::vector<double> times, processor_times;
  nlohmann::json result{{"build_s", build_s}, {"compile_s", compile_s}};
  for (std::int32_t i = 0; i <= o.steps; ++i) {
    const auto start = Clock::now();
    const std::clock_t processor_start = std::clock();
    Execution execution = step.run(batch, std::span(&i, 1), state);
    result["loss"] = execution.results[0].back().to_host<float>()[0];
    state.replace(execution.results);
    if (i == 0) {
      result["start_to_first_step_s"] = seconds(begin);
      continue;
    }
    times.push_back(seconds(start));
    processor_times.push_back(static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC);
  }
  std::ranges::sort(times);
  result["step_s_min"] = times.front();
  result["step_cpu_s_min"] = std::ranges::min(processor_times);
  result["step_s_median"] = times[times.size() / 2];
  result["sequences_per_s"] = static_cast<double>(o.batch) / times[times.size() / 2];
  return result;
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto* command = app.add_subcommand("bench", "time a training step on made-up examples, as JSON");
  auto o = std::make_shared<BenchOptions>();
  std::vector<std::string> names;
  for (const auto& [name, config] : models()) names.push_back(name);
  command->add_option("--model", o->model, "tiny, small, base or large")
      ->check(CLI::IsMember(names));
  command->add_option("--device", o->device, "cpu, gpu or tpu")->capture_default_str();
  command->add_option("--devices", o->devices, "devices that share a batch")->capture_default_str();
  command->add_option("--batch", o->batch, "examples per step")->capture_default_str();
  command->add_option("--seq", o->seq, "tokens per example")->capture_default_str();
  command->add_option("--predictions", o->predictions, "masked tokens per example")
      ->capture_default_str();
  command->add_option("--steps", o->steps, "steps timed, after one that is not")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--dropout", o->dropout, "dropout probability")->capture_default_str();
  command->callback([o] { std::cout << run_bench(*o).dump() << "\n"; });
}

}  // namespace smelt
