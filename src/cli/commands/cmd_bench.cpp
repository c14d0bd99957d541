#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <future>
#include <iostream>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/philox.h"
#include "cli/commands/bench_lengths.h"
#include "cli/commands/bench_update.h"
#include "cli/commands/commands.h"
#include "cli/options/form_flags.h"
#include "cli/options/number_check.h"
#include "cli/options/parse_arguments.h"
#include "execution/train_state/compiled_step.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "model/models/modernbert_config.h"
#include "model/optim/optimizer_config.h"
#include "model/tasks/bert_task.h"
#include "model/tasks/classify_task.h"
#include "model/tasks/electra_task.h"
#include "model/tasks/jestimator_bert_task.h"
#include "model/tasks/masked_lm_task.h"
#include "model/tasks/t5_task.h"
#include "pjrt/hardware.h"

namespace smelt::cli {
namespace {

struct BenchOptions {
  std::string model = "base", optimizer = "bert_adamw", emit;
  std::vector<std::string> updates;  // time only these optimizers' updates
  model::DeviceConfig on = {.compute = model::ComputeOptions()};
  std::int64_t depth = 0, batch = 8, seq = 128, predictions = 20, steps = 5, micro_batches = 1;
  std::int64_t classes = 0;  // classes of a fine-tuned BERT; 0: pretraining
  double dropout = 0.1;
  std::string lengths;  // file of numbers of tokens; empty: no padding
  bool packs = false;
};

const std::map<std::string, model::BertConfig>& models() {
  const auto config = [](std::int64_t layers, std::int64_t hidden) {
    model::BertConfig c;
    c.vocab_size = 30522;
    c.type_vocab_size = 2;
    c.hidden_size = hidden;
    c.num_hidden_layers = layers;
    c.num_attention_heads = hidden / 64;
    c.intermediate_size = 4 * hidden;
    return c;
  };
  static const std::map<std::string, model::BertConfig> kModels{{"tiny", config(2, 128)},
                                                                {"small", config(4, 512)},
                                                                {"base", config(12, 768)},
                                                                {"large", config(24, 1024)}};
  return kModels;
}

constexpr const char* kElectra = "electra-small";
constexpr const char* kJestimator = "jestimator-base";
constexpr const char *kT5 = "t5-small", *kT5Gated = "t5-v1_1-small";
constexpr const char *kModernbert = "modernbert-base", *kModernbertSmall = "modernbert-small";

model::Task electra_bench_task(const BenchOptions& o) {
  model::ElectraTask task;
  task.model.vocab_size = 30522;
  task.model.num_hidden_layers = o.depth;
  task.model.hidden_dropout_prob = task.model.attention_probs_dropout_prob = o.dropout;
  task.seq_length = o.seq;
  return model::electra_task(task);
}

// Returns the task of the original JEstimator's tutorial.
model::Task jestimator_bench_task(const BenchOptions& o) {
  model::JestimatorBertTask task;
  task.model.vocab_size = 32000;
  task.model.max_length = o.seq;
  if (o.depth > 0) task.model.num_layers = o.depth;
  task.model.hidden_dropout_rate = task.model.attention_dropout_rate = o.dropout;
  task.settings.mask_token_id = 4;
  return model::jestimator_bert_task(task);
}

// Returns the task of the original small T5 models. --predictions is the number of target tokens.
model::Task t5_bench_task(const BenchOptions& o) {
  model::T5Task task{.inputs_length = o.seq, .targets_length = o.predictions};
  task.model.vocab_size = 32128;
  task.model.dropout_rate = o.dropout;
  if (o.model == kT5Gated) {
    task.model.d_ff = 1024;
    task.model.num_layers = 8;
    task.model.num_heads = 6;
    task.model.feed_forward_proj = "gated-gelu";
    task.model.tie_word_embeddings = false;
  }
  if (o.depth > 0) task.model.num_layers = o.depth;
  return model::t5_task(task);
}

// Returns the task of recipes/modernbert-base.yaml or modernbert-small.yaml.
model::Task modernbert_bench_task(const BenchOptions& o) {
  model::ModernbertConfig c{.vocab_size = 50304, .attention_output_dropout = o.dropout};
  if (o.model == kModernbertSmall) {
    c.hidden_size = 384;
    c.num_hidden_layers = 10;
    c.num_attention_heads = 6;
    c.intermediate_size = 576;
  }
  if (o.depth > 0) c.num_hidden_layers = o.depth;
  return model::masked_lm_task(
      {.encoder = model::modernbert_encoder(c, "bench"), .seq_length = o.seq, .mask_prob = 0.3});
}

model::Task classify_bench_task(const BenchOptions& o, const model::BertConfig& model) {
  model::ClassifyTask task{
      .encoder = model::bert_encoder(model), .seq_length = o.seq, .dropout = o.dropout};
  for (std::int64_t i = 0; i < o.classes; ++i) task.labels.names.push_back(str("class ", i));
  return model::classify_task(task);
}

model::Task bench_task(const BenchOptions& o) {
  if (o.model == kT5 || o.model == kT5Gated) return t5_bench_task(o);
  if (o.model == kElectra) return electra_bench_task(o);
  if (o.model == kJestimator) return jestimator_bench_task(o);
  if (o.model == kModernbert || o.model == kModernbertSmall) return modernbert_bench_task(o);
  const auto known = models().find(o.model);
  if (o.classes == 0 && o.predictions > o.seq)
    throw UsageError(
        str("bench: --predictions ", o.predictions, " of --seq ", o.seq, ": must not exceed --seq"),
        "lower --predictions to at most --seq");
  model::BertConfig model =
      known != models().end()
          ? known->second
          : model::parse_bert_config(io::read_file(o.model, io::kSmallFileBytes), o.model);
  if (o.depth > 0) model.num_hidden_layers = o.depth;
  if (known != models().end())
    model.hidden_dropout_prob = model.attention_probs_dropout_prob = o.dropout;
  if (o.classes > 0) return classify_bench_task(o, model);
  return model::bert_task({.model = model, .seq_length = o.seq, .max_predictions = o.predictions});
}

// Returns the optimizer with a recipe's defaults.
model::Optimizer bench_optimizer(const BenchOptions& o, const std::string& name) {
  return model::make_optimizer({.type = name}, o.model == kJestimator ? "jestimator_bert" : "bert");
}

model::TrainingConfig bench_config(const BenchOptions& o, std::string_view platform) {
  model::TrainingConfig c;
  c.batch_size = o.batch;
  c.devices = o.on.devices;
  c.schedule = {.learning_rate = 1e-4, .warmup_steps = 100, .total_steps = 10000, .power = 1.0};
  c.optimizer = bench_optimizer(o, o.optimizer);
  c.clip_norm = model::clip_norm_of({.type = o.optimizer});
  c.micro_batches = o.micro_batches;
  c.compute = model::compute_for(platform, *o.on.compute, flag);
  return c;
}

// Returns a batch of random tokens without padding.
data::Batch random_batch(const io::Features& features, std::int64_t rows) {
  data::Batch batch = data::empty_batch(features, rows);
  std::uint64_t drawn = 0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const io::Feature& feature = features[i];
    if (feature.dtype == compiler::DType::f32)
      std::ranges::fill(batch.arrays[i].values<float>(), 1.0f);
    else if (feature.name == "input_mask" || feature.name == "is_real_example")
      std::ranges::fill(batch.arrays[i].values<std::int32_t>(), 1);
    else if (feature.name != "segment_ids")
      for (std::int32_t& value : batch.arrays[i].values<std::int32_t>())
        value = static_cast<std::int32_t>(philox(1, drawn++, 0)[0] % feature.limit);
  }
  return batch;
}

model::ShardingPlan bench_placement(const BenchOptions& o, std::string_view platform) {
  return model::placement_for(platform, o.on.devices, model::Reduction::global,
                              model::partition_for(o.on.mesh, o.on.devices, flag));
}

// Returns the lengths of the examples, or nullopt without --lengths.
std::optional<BenchLengths> bench_lengths(const BenchOptions& o, const model::Task& task,
                                          const model::ShardingPlan& placement) {
  if (o.lengths.empty()) return {};
  if (!task.can_be_packed)
    throw UsageError(str("bench: --lengths: the lengths of ", task.name, " examples cannot be set"),
                     "remove --lengths, or measure pre-training with --model base");
  return draw_lengths(o.lengths,
                      {.tokens = task.tokens,
                       .length = o.seq,
                       .batch_size = o.batch,
                       .devices = placement.row_shards(),
                       .micro_batches = o.micro_batches},
                      o.packs);
}

// Returns the task on packed rows, if the examples are packed.
model::Task as_packed(model::Task task, const std::optional<BenchLengths>& lengths) {
  if (!lengths || !lengths->packing) return task;
  return model::packed_task(std::move(task), lengths->packing->slots());
}

// Returns how the examples are packed.
Json packing_json(const BenchLengths& lengths) {
  return {{"packed_rows", lengths.packing->rows * lengths.packing->shards()},
          {"fitting_batches", lengths.packing->fitting}};
}

// Writes the step's StableHLO text, for other compilers. Prints packing_json() of packed examples.
void emit_step(const BenchOptions& o) {
  const model::TrainingConfig config = bench_config(o, o.on.device);
  const model::Task task = bench_task(o);
  const model::ShardingPlan placement = bench_placement(o, o.on.device);
  const auto lengths = bench_lengths(o, task, placement);
  const model::StepProgram step = model::train_program(as_packed(task, lengths), config, placement);
  io::OutputFile file(o.emit);
  file.write(compiler::emit_module(step.program, "step"));
  file.commit();
  if (lengths && lengths->packing) std::cout << packing_json(*lengths).dump() << "\n";
}

// Times steps on one batch; the first step is not timed. `begin` is the start time of the process.
Json time_steps(const execution::CompiledStep& step, const data::Batch& batch,
                execution::ModelState& state, std::int64_t steps, Clock::time_point begin) {
  std::vector<double> times, processor_times;
  Json result{{"start_s", seconds_since(begin)}};
  for (std::int64_t i = 0; i <= steps; ++i) {
    const auto start = Clock::now();
    const std::clock_t processor_start = std::clock();
    pjrt::Execution execution = step.run(batch, state, i);
    const auto report = execution.results[0].back().to_host<float>();
    result["loss"] = report[0];
    result["gradient_norm"] = report[1];
    state.replace(execution.results);
    if (i == 0) {
      result["start_to_first_step_s"] = seconds_since(begin);
      continue;
    }
    times.push_back(seconds_since(start));
    processor_times.push_back(static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC);
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  result["step_s_min"] = times.front();
  result["step_cpu_s_min"] = std::ranges::min(processor_times);
  result["step_s_median"] = median;
  result["sequences_per_s"] = static_cast<double>(batch.rows) / median;
  return result;
}

Json run_bench(const BenchOptions& o) {
  const auto begin = Clock::now();
  const model::Task task = bench_task(o);
  const model::TrainingConfig config = bench_config(o, o.on.device);
  const model::ShardingPlan placement = bench_placement(o, o.on.device);
  const auto lengths = bench_lengths(o, task, placement);
  const model::StepProgram program =
      model::train_program(as_packed(task, lengths), config, placement);
  const double build_s = seconds_since(begin);
  const auto client = pjrt::open_device(o.on.device, static_cast<int>(o.on.devices));
  // Initialize the state while the program compiles, as training does.
  auto fresh = std::async(std::launch::async, [&] {
    return execution::ModelState::fresh(*client, program.placement, program.state, config.seed);
  });
  const auto compiling = Clock::now();
  const execution::CompiledStep step(client, program,
                                     execution::advice_for_training("bench: a step", flag));
  const double compile_s = seconds_since(compiling);
  execution::ModelState state = fresh.get();
  data::Batch batch = random_batch(task.features, o.batch);
  if (lengths) batch = with_lengths(batch, task.features, *lengths);
  Json result = time_steps(step, batch, state, o.steps, begin);
  if (lengths && lengths->packing) result.update(packing_json(*lengths));
  result["build_s"] = build_s;
  result["compile_s"] = compile_s;
  return result;
}

Json run_updates(const BenchOptions& o) {
  const auto client = pjrt::open_device(o.on.device);
  const model::StepProgram step = model::train_program(
      bench_task(o), bench_config(o, client->platform_name()),
      model::placement_for(client->platform_name(), 1, model::Reduction::global));
  std::vector<NamedOptimizer> optimizers;
  for (const std::string& name : o.updates) optimizers.push_back({name, bench_optimizer(o, name)});
  const auto first = step.state.tensors.begin();
  return time_updates(client, {first, first + static_cast<std::ptrdiff_t>(step.state.values)},
                      optimizers, o.steps);
}

void add_optimizer_flags(CLI::App& command, BenchOptions& o) {
  command.add_option("--optimizer", o.optimizer, "optimizer of the step")
      ->check(CLI::IsMember(model::optimizer_names()))
      ->capture_default_str();
  command
      .add_option("--updates", o.updates,
                  "time only the updates of these optimizers, in turns, on one device")
      ->delimiter(',')
      ->check(CLI::IsMember(model::optimizer_names()));
}

// Returns "" if the value is a model name or a file, else an error text.
std::string check_model(const std::string& value) {
  std::vector<std::string> names{kElectra,         kJestimator, kModernbert,
                                 kModernbertSmall, kT5,         kT5Gated};
  if (std::ranges::find(names, value) != names.end() || models().contains(value) ||
      io::exists(value))
    return "";
  for (const auto& [name, config] : models()) names.push_back(name);
  return str("'", value, "' is neither a file nor one of ", join(names, ", "));
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "bench", "measure the time of a training step on random examples, as JSON");
  auto o = std::make_shared<BenchOptions>();
  command
      ->add_option("--model", o->model,
                   "BERT's tiny, small, base or large, electra-small, jestimator-base, "
                   "modernbert-base, modernbert-small, t5-small or t5-v1_1-small; or a "
                   "bert_config.json, with its own dropout")
      ->check(check_model, "NAME");
  add_device_flag(*command, o->on.device);
  const auto add_count = [&](const char* name, std::int64_t& value, const char* help) {
    command->add_option(name, value, help)->check(number_from(1, 1e6))->capture_default_str();
  };
  command->add_option("--depth", o->depth, "number of layers; default: as the model")
      ->check(number_from(1, 1000));
  add_count("--devices", o->on.devices, "devices that share a batch");
  add_count("--batch", o->batch, "examples per step, over all devices");
  add_count("--seq", o->seq, "tokens per example");
  add_count("--predictions", o->predictions, "BERT's masked tokens, or T5's targets, per example");
  add_count("--micro-batches", o->micro_batches,
            "split each device's rows into this many parts, computed one after another");
  add_count("--steps", o->steps, "number of timed steps, after one untimed step");
  command
      ->add_option("--classes", o->classes,
                   "fine-tune a BERT on this many classes instead of pretraining it; 0: pretrain")
      ->check(number_from(2, 1000));
  command->add_option("--dropout", o->dropout, "dropout probability")->capture_default_str();
  command
      ->add_option(
          "--lengths", o->lengths,
          "file with one number of tokens per line, from which the lengths of the examples "
          "are drawn; default: no padding")
      ->check(CLI::ExistingFile);
  command->add_flag("--packing", o->packs, "pack the examples into fewer rows")
      ->needs(command->get_option("--lengths"));
  add_optimizer_flags(*command, *o);
  add_form_flags(*command, *o->on.compute, o->on.mesh);
  command
      ->add_option("--emit", o->emit,
                   "write the step's StableHLO text to this file and run nothing")
      ->check(is_not_empty, "");
  for (const char* of_a_step : {"--emit", "--optimizer", "--mesh"})
    command->get_option("--updates")->excludes(command->get_option(of_a_step));
  command->callback([o] {
    if (!(o->dropout >= 0 && o->dropout <= 0.99))  // nan, too
      throw UsageError(str("bench: --dropout ", o->dropout, " is not between 0 and 0.99"),
                       "use a probability such as 0.1");
    o->on.device = pjrt::chosen_device(o->on.device);
    if (!o->emit.empty()) return emit_step(*o);
    std::cout << (o->updates.empty() ? run_bench(*o) : run_updates(*o)).dump() << "\n";
  });
}

}  // namespace smelt::cli
