// The programs of a task: a training step, an evaluation batch, a prediction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/choice.h"
#include "compiler/stablehlo/writer.h"
#include "model/optim/optimizer.h"
#include "model/optim/parameter_rules.h"
#include "model/optim/pruning.h"
#include "model/optim/schedule.h"
#include "model/tasks/task.h"
#include "model/train_step/consensus_flags.h"
#include "model/train_step/report.h"
#include "model/train_step/sharding_plan.h"
#include "model/train_step/spikes.h"
#include "model/train_step/state_layout.h"

namespace smelt::model {

// Whether a step packs its sequences into fewer rows (model/nn/packing.h): if this saves at least a
// tenth of the rows (`automatic`), always, or never.
enum class PackingMode { automatic, on, off };
inline constexpr NamedValues<PackingMode, 3> kPackingModes{
    {{"auto", PackingMode::automatic}, {"on", PackingMode::on}, {"off", PackingMode::off}}};
constexpr const NamedValues<PackingMode, 3>& words_of(PackingMode) { return kPackingModes; }

// Settings of a training run that its program depends on.
struct TrainingConfig {
  std::int64_t batch_size = 32;  // examples per step over all devices
  std::int64_t devices = 1;
  Schedule schedule;
  // Returns the position in the schedule after `step` steps, if the schedule counts another unit,
  // such as milliseconds. If it is empty, the position is the step.
  std::function<std::int64_t(std::int64_t step)> position = {};
  Optimizer optimizer;
  double clip_norm = 1.0;  // clips the gradient's global norm; 0: no clipping
  double clip_value = 0;   // clips each element after that; 0: no clipping
  double ema_decay = 0;    // decay of the weights' moving averages; 0: none
  Spikes spikes = {};
  ParameterRules rules = {};
  Reduction reduction = Reduction::global;
  ComputePolicy compute = {};
  std::int64_t micro_batches = 1;  // number of sequential parts of each device's rows
  PackingMode packing = PackingMode::off;
  std::uint64_t seed = 12345;  // seed of weights, dropout and data order
  Pruning pruning = {};        // needs an optimizer that keeps zeros (model/optim/pruning.h)
  bool takes_wishes = false;   // whether the consensus flags are an argument (consensus_flags.h)
};

// A program with the layout of its arguments and results. Arguments in order: the batch (in the
// order of the features); the step (s32; in an evaluation with random draws, the number of the
// batch); the replica number (s32, if there are replicas that draw); if enabled the learning rate
// (f32), the consensus flags (f32, [2] per replica or [devices, 2] on a mesh) and the seed's keys
// (SeedKeys); the values of a frozen model; the state. Runs that differ only in seed and learning
// rates share one program.
struct StepProgram {
  compiler::Program program = {};
  io::Features features = {};
  bool takes_step = false, takes_replica = false, takes_wishes = false;
  std::function<float(std::int64_t step)> rate = {};  // empty: not an argument
  std::vector<std::uint32_t> keys = {};               // empty: not an argument
  StateLayout held = {};                              // values of the task's frozen model, if any
  std::optional<FrozenModel> frozen = {};
  StateLayout state = {};
  ReportLayout report = {};
  ShardingPlan placement = {};
};

// Builds a training step. Results: the new state, which reuses the memory of the old one, then the
// report with loss, gradient_norm, learning_rate and the task's losses and metrics. Parameters that
// the loss does not depend on or that a rule freezes are unchanged, as are their slots. A step with
// non-finite values changes nothing (model/train_step/step_guard.h). Throws UsageError if the batch
// size does not divide over the devices, or a rule matches no parameter.
StepProgram train_program(const Task& task, const TrainingConfig& config,
                          const ShardingPlan& placement);
// Builds the same step without the update; the state contains only values. Result: the report with
// the loss, the gradient norm and, under each parameter's name, the norm of its gradient before
// clipping.
StepProgram gradient_program(const Task& task, const TrainingConfig& config,
                             const ShardingPlan& placement);
// Builds an evaluation step without dropout; the state contains only values. Result: the report
// with loss and the task's losses and metrics. Random draws of the task depend only on the index of
// the example over all batches and on the pass. With several passes, sums and weights are means
// over the passes; throws UsageError if the task draws nothing. `takes_wishes` adds the consensus
// flags to the report.
StepProgram eval_program(const Task& task, std::int64_t batch_size, const ShardingPlan& placement,
                         ComputePolicy compute = {}, std::int64_t passes = 1,
                         bool takes_wishes = false);
// Builds a prediction step. Results: the prediction's outputs for all rows, on each device. Runs on
// one device, or on the placement's mesh (its partition must have the model's dimension names).
// `batch_size` is the total over the mesh, which must divide it.
StepProgram predict_program(const Prediction& prediction, std::int64_t batch_size,
                            ComputePolicy compute = {}, const ShardingPlan& placement = {});

}  // namespace smelt::model
