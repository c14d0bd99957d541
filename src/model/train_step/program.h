// The programs of a task, each one graph over named arguments: a training step, an evaluation
// batch, a prediction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

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

namespace smelt {

struct TrainingConfig {
  std::int64_t batch_size = 32;  // rows of a step, over all devices
  std::int64_t devices = 1;
  Schedule schedule;
  Optimizer optimizer;
  double clip_norm = 1.0;  // of the gradient, over all parameters; 0: not clipped
  double clip_value = 0;   // of its elements, after that; 0: not clipped
  double ema_decay = 0;    // of the weights' averages; 0: none
  Spikes spikes = {};
  ParameterRules rules = {};
  Reduction reduction = Reduction::global;
  ComputePolicy compute = {};
  std::int64_t micro_batches = 1;  // of each device's rows, one after another
  std::uint64_t seed = 12345;      // of weights, dropout and the order of the data
  Pruning pruning = {};            // of weights that become 0; its optimizer keeps zeros
  bool takes_wishes = false;       // of several processes (model/train_step/consensus_flags.h)
};

// Arguments: the batch in the features' order, then the step (s32; in an evaluation that draws, the
// number of the batch), then the number of the replica (s32, where replicas draw), then where it
// takes them the step's rate (f32), the wishes (f32, of a replica [2], of a mesh [devices, 2]) and
// the seed's keys (SeedKeys), then what is held as it is given, then the state's tensors. Runs that
// differ by seed and rates share one program.
struct StepProgram {
  Program program = {};
  Features features = {};
  bool takes_step = false, takes_replica = false, takes_wishes = false;
  std::function<float(std::int64_t step)> rate = {};  // empty: it takes none
  std::vector<std::uint32_t> keys = {};               // empty: it takes none
  StateLayout held = {};  // values of the task's FrozenModel; empty: it has none
  std::optional<FrozenModel> holds = {};
  StateLayout state = {};
  ReportLayout report = {};
  ShardingPlan placement = {};
};

// Results: the new state, donated over the old one, then the report: loss, gradient_norm,
// learning_rate, the task's losses and metrics. A parameter that the loss does not depend on, or
// that a rule freezes, stays as it is, with its slots; all of it does in a step that is not finite
// (model/train_step/step_guard.h). UsageError when the batch does not divide over the devices, or
// for a rule that names no parameter.
StepProgram train_program(const Task& task, const TrainingConfig& config,
                          const ShardingPlan& placement);
// The same step without its update; takes values only. Result: the report, whose figures are the
// loss, the gradient's norm and, by the names of the parameters, that of each one's gradient, as it
// is before it is clipped.
StepProgram gradient_program(const Task& task, const TrainingConfig& config,
                             const ShardingPlan& placement);
// Result: the report: loss, the task's losses and metrics. Without dropout; takes values only. What
// the task draws for an example depends on the example's number over all batches and on the pass
// alone. Of several passes over the batch sums and weights are means over the passes; UsageError
// where the task draws nothing. If it takes wishes (model/train_step/consensus_flags.h), they are
// figures of the report.
StepProgram eval_program(const Task& task, std::int64_t batch_size, const ShardingPlan& placement,
                         ComputePolicy compute = {}, std::int64_t passes = 1,
                         bool takes_wishes = false);
// Results: the prediction's outputs, of all rows on each device. One program: one device, or the
// placement's mesh with the names of the model's dimensions in its partition; `batch_size` rows
// over all of it, which divides them.
StepProgram predict_program(const Prediction& prediction, std::int64_t batch_size,
                            ComputePolicy compute = {}, const ShardingPlan& placement = {});

}  // namespace smelt
