// The configuration of a training run: the `train` section of a recipe. Each nested section is the
// options struct of the component that uses it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "io/formats/config.h"
#include "model/optim/optimizer_config.h"
#include "model/optim/pruning_options.h"
#include "model/optim/schedule_config.h"
#include "model/tasks/task.h"
#include "model/train_step/program.h"
#include "train/checkpoint_options.h"

namespace smelt::train {

// The maximum cost of a run, from which `smelt plan` computes a number of steps.
struct BudgetOptions {
  double usd = 0;
  std::string type = "v3-8";
  bool spot = false;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, BudgetOptions>
void visit_fields(C& c, Visitor&& visit) {
  visit("usd", c.usd,
        "maximum cost of the run in US dollars, as estimated by `smelt plan`; above 0 it sets "
        "train.steps if that is not set; a resumed run keeps its steps");
  visit("type", c.type, "accelerator type of the budget, in Google's names");
  visit("spot", c.spot, "use the price of spot machines for the budget");
}

// The base class contains the device, the mesh (train.parallelism) and how the model is computed
// (train.precision, train.memory).
struct TrainConfig : model::DeviceConfig {
  TrainConfig() { compute.emplace(); }

  std::int64_t batch_size = 32;
  std::int64_t steps = 1000;
  double epochs = 0;        // if `epochs` or `tokens` is above 0, the pipeline sets `steps`
  std::string length = {};  // with a unit (pipeline/config/run_length.h); sets one of the others
  double tokens = 0, seconds = 0;  // set by `length`; with `seconds`, `steps` is not used
  BudgetOptions budget;
  std::int64_t gradient_accumulation_steps = 1;
  model::PackingMode packing = model::PackingMode::off;
  std::int64_t seed = 12345;
  std::string init_from = {};  // folder of pretrained weights; empty: random weights
  std::int64_t logging_steps = 100;
  double hang_minutes = 30;
  model::OptimizerConfig optimizer;
  model::ScheduleConfig schedule;
  std::string class_weights = {};
  double label_smoothing = 0.0;
  double ema_decay = 0.0;
  model::Spikes loss_spike;
  model::Reduction reduction = model::Reduction::global;
  model::PruningOptions pruning;
  bool fake_quant = false;
  CheckpointOptions checkpoint;
  EarlyStopping early_stopping;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, TrainConfig>
void visit_length_fields(C& c, Visitor&& visit) {
  visit("device", c.device, "cpu, gpu or tpu; auto: the machine's TPU or GPU, else the CPU");
  visit("devices", c.devices, "devices that share a batch");
  visit("batch_size", c.batch_size, "examples per step, over all devices");
  visit("steps", c.steps, "training steps in all");
  visit("epochs", c.epochs,
        "passes over the training examples; above 0 it sets train.steps. Examples made from "
        "text contain the text data.dupe_factor times");
  visit("length", c.length,
        "length of the run with its unit: 30000 steps, 3 epochs, 3B tokens (padding counts), 24 "
        "hours of training or 20 dollars (the same as train.budget.usd); replaces train.steps; "
        "with hours, the learning rate follows the time of training (docs/guides/run-length.md)");
  io::visit_section("budget", c.budget, visit);
}

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, TrainConfig>
void visit_fields(C& c, Visitor&& visit) {
  visit_length_fields(c, visit);
  visit("gradient_accumulation_steps", c.gradient_accumulation_steps,
        "number of parts into which each device's share of a batch is split; they are computed one "
        "after another: less memory, same result");
  visit("packing", c.packing,
        "of bert, electra, roberta, modernbert, deberta and deberta_rtd: on: short examples share "
        "a row of "
        "data.seq_length tokens, which saves the time of padding and does not change the result; "
        "auto: on if this saves a tenth of the time or more; off (docs/guides/packing.md)");
  visit("seed", c.seed, "random seed of weights, dropout and data order");
  visit("init_from", c.init_from,
        "pretrained weights of a new run: a folder of smelt checkpoints, a Hugging Face folder, or "
        "a TensorFlow checkpoint (…/bert_model.ckpt); empty: random weights");
  visit("logging_steps", c.logging_steps, "steps between log lines");
  visit("hang_minutes", c.hang_minutes,
        "ends the command if a step takes more than this many minutes; 0 = never");
  io::visit_section("optimizer", c.optimizer, visit);
  io::visit_section("schedule", c.schedule, visit);
  visit("class_weights", c.class_weights,
        "for model.type classify: weight of each class in the loss: balanced (rare classes count "
        "more, as in scikit-learn), or numbers in the order of the classes: 1,2.5,1; empty: equal "
        "weights");
  visit("label_smoothing", c.label_smoothing,
        "for model.type classify: share of each label that is spread over all classes; 0.1 is "
        "usual, 0: none");
  visit("ema_decay", c.ema_decay,
        "keeps moving averages of the weights, average * ema_decay + weight * (1 - ema_decay), "
        "which eval.averaged evaluates; 0 = none");
  io::visit_section("loss_spike", c.loss_spike, visit);
  io::visit_section("parallelism", c.mesh, visit);
  visit("parallelism.reduction", c.reduction,
        "global: clip the gradient of the whole batch; per_replica: each device clips its own "
        "gradient before they are summed, as in the original BERT");
  visit_fields(*c.compute, visit);
  io::visit_section("pruning", c.pruning, visit);
  visit("fake_quant", c.fake_quant,
        "quantization-aware training: matmuls in the layers simulate int8 "
        "(docs/guides/compress.md)");
  io::visit_section("checkpoint", c.checkpoint, visit);
  io::visit_section("early_stopping", c.early_stopping, visit);
}

// Returns the length of the schedule: steps, or milliseconds if config.seconds is above 0.
std::int64_t schedule_length(const TrainConfig& config);
// Returns the settings that the compiled step depends on.
model::TrainingConfig step_config(const TrainConfig& config, const model::Task& task);

}  // namespace smelt::train
