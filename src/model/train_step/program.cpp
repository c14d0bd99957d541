#include "model/train_step/program.h"

#include <unordered_set>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "model/optim/clip.h"
#include "model/train_step/averages.h"
#include "model/train_step/gradients.h"
#include "model/train_step/step_guard.h"

namespace smelt::model {

using compiler::concatenate;
using compiler::constant;
using compiler::convert;
using compiler::DimAxes;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::Graph;
using compiler::Node;
using compiler::Program;
using compiler::reachable;
using compiler::reduce_sum;
using compiler::RematPolicy;
using compiler::scan;
using compiler::ScanBody;
using compiler::select;
using compiler::Sharding;
using compiler::sqrt;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

// ---- the state ----

// The state that a training step receives and returns, by kind.
struct Carried {
  std::vector<Tensor> values, slots;
  std::vector<Tensor> averages;  // empty without moving averages
  Tensor losses = {};            // empty without spike detection
  Tensor flag = {};

  // Returns all tensors in the order of carried_layout().
  std::vector<Tensor> in_order() const;
};

std::vector<Tensor> Carried::in_order() const {
  std::vector<Tensor> out = values;
  out.insert(out.end(), slots.begin(), slots.end());
  out.insert(out.end(), averages.begin(), averages.end());
  if (losses) out.push_back(losses);
  out.push_back(flag);
  return out;
}

// Returns the layout of a training step's state.
StateLayout carried_layout(const TrainingConfig& c, const Parameters& parameters,
                           const PartitionRules& partition) {
  StateLayout out = training_layout(parameters, c.optimizer, partition);
  if (c.ema_decay > 0) add_averages(out);
  if (c.spikes.action != SpikeAction::none) out.tensors.push_back(spike_losses(c.spikes));
  out.tensors.push_back(step_flag());
  return out;
}

// Returns the state that a step receives: the parameters, which are already arguments of the
// program, and new arguments for the other tensors of `layout`, which comes from carried_layout().
Carried carried_arguments(Graph& graph, const StateLayout& layout, const TrainingConfig& c,
                          const Parameters& parameters) {
  const bool has_losses = c.spikes.action != SpikeAction::none;
  const std::size_t averages = c.ema_decay > 0 ? layout.values : 0;
  const std::size_t after_slots = averages + (has_losses ? 1 : 0) + 1;
  std::size_t at = layout.values;
  const auto next = [&] { return graph.argument(layout.tensors.at(at++).shape); };
  Carried out;
  for (const Parameter& p : parameters.all()) out.values.push_back(p.tensor);
  while (at + after_slots < layout.tensors.size()) out.slots.push_back(next());
  for (std::size_t i = 0; i < averages; ++i) out.averages.push_back(next());
  if (has_losses) out.losses = next();
  out.flag = next();
  return out;
}

// ---- scalar and random arguments ----

Tensor scaled(Tensor number, std::int64_t factor) {
  return number * full_like(number, static_cast<double>(factor));
}

// Adds the arguments that random numbers depend on in training: the step and, with replicas, the
// number of the replica. `rows` is the number of rows per replica.
RandomSource random_arguments(StepProgram& out, const TrainingConfig& c, std::int64_t rows) {
  Graph& graph = out.program.graph;
  RandomSource random{.step = graph.argument({DType::s32, {}})};
  out.takes_replica = out.placement.spread == Parallelism::replicas;
  if (!out.takes_replica) return random;
  const Tensor replica = graph.argument({DType::s32, {}});
  if (c.reduction == Reduction::per_replica)
    random.stream = replica;
  else
    random.first_row = scaled(replica, rows);
  return random;
}

// Returns the random source of an evaluation that draws random numbers, or nullopt if it draws
// none. Examples are numbered over all batches.
std::optional<RandomSource> numbered_examples(bool draws, StepProgram& out, std::int64_t size) {
  if (!draws) return {};
  Graph& graph = out.program.graph;
  const Tensor batch = graph.argument({DType::s32, {}});
  out.takes_step = true;
  out.takes_replica = out.placement.spread == Parallelism::replicas;
  Tensor first = scaled(batch, size);
  if (out.takes_replica)
    first = first + scaled(graph.argument({DType::s32, {}}), size / out.placement.replicas());
  return RandomSource{.seed = TrainingConfig().seed,
                      .step = zeros_like(batch),
                      .first_row = first,
                      .training = false};
}

// Adds the argument for the keys of a seed.
std::shared_ptr<SeedKeys> keys_argument(Graph& graph) {
  constexpr std::int64_t kWords = 2 * SeedKeys::kMostPlaces;
  return std::make_shared<SeedKeys>(
      SeedKeys{.words = graph.argument({DType::u32, {kWords}}), .places = {}});
}

// Returns the learning rate as a function of the number of previous steps.
std::function<float(std::int64_t)> rate_by_step(const TrainingConfig& c) {
  if (c.position)
    return [schedule = c.schedule, position = c.position](std::int64_t step) {
      return learning_rate(schedule, position(step));
    };
  return [schedule = c.schedule, first = c.optimizer.first_step](std::int64_t step) {
    return learning_rate(schedule, step + first);
  };
}

// ---- a frozen model ----

void check_frozen_values(const StateLayout& layout, const FrozenModel& model) {
  for (const StateTensor& tensor : layout.tensors)
    for (const std::string& name : tensor.stored_names()) {
      const auto found = model.values->find(name);
      if (found == model.values->end())
        throw UsageError(str(model.where, ": tensor ", name, " is missing"),
                         "use a teacher folder with all weights");
      if (found->second.shape.dims != tensor.shape_of_one().dims)
        throw UsageError(str(model.where, ": ", name, " is ", found->second.shape, ", expected ",
                             tensor.shape_of_one(), " by its config"),
                         "use the config that the teacher was trained with");
    }
}

// Stores the layout of the frozen model that the objective just declared in `out`, and returns the
// number of its arguments, which precede those of the parameters. Throws UsageError if the task's
// FrozenModel lacks a value or has one of another shape.
std::int64_t take_frozen_model(const Task& task, const Scope& root, const Parameters& parameters,
                               StepProgram& out) {
  if (parameters.held() == nullptr) return 0;
  CHECK(task.frozen.has_value(), task.name);
  PartitionRules partition = *root.compute().partition;
  partition.names = task.frozen->dim_names;
  out.held = values_layout(*parameters.held(), partition);
  out.frozen = task.frozen;
  check_frozen_values(out.held, *task.frozen);
  const Tensor last = parameters.held()->all().back().tensor;
  for (const Parameter& p : parameters.all())
    CHECK(p.tensor.node().id > last.node().id, p.name, " is declared before the frozen model");
  return std::ssize(out.held.tensors);
}

// ---- batches and shardings ----

std::vector<Tensor> batch_arguments(Program& p, const io::Features& features, std::int64_t rows,
                                    const ShardingPlan& placement) {
  std::vector<Tensor> tensors;
  for (const io::Feature& feature : features) {
    Dims dims = feature.row;
    dims.insert(dims.begin(), rows);
    p.argument_sharding.push_back({DimAxes(dims.size())});
    p.argument_sharding.back().axes[0] = placement.partition.row_axes();
    tensors.push_back(p.graph.argument({feature.dtype, std::move(dims)}));
  }
  return tensors;
}

// Returns the rows of one program: the whole batch, or one replica's share.
std::int64_t rows_per_program(std::int64_t batch_size, const ShardingPlan& placement,
                              std::int64_t micro_batches = 1) {
  const std::int64_t shards = placement.row_shards();
  if (batch_size < 1 || batch_size % shards != 0)
    throw UsageError(
        str("a batch of ", batch_size, " examples does not divide over ", shards, " devices"),
        str("choose a multiple of ", shards));
  const std::int64_t own = batch_size / shards;
  if (micro_batches < 1 || own % micro_batches != 0)
    throw UsageError(str("a batch of ", batch_size, " examples over ", shards, " devices, ", own,
                         " each, does not divide into ", micro_batches, " micro-batches"),
                     str("choose a number of micro-batches that divides ", own));
  return batch_size / placement.replicas();
}

// Sets the shardings of arguments and results. The state is the last group of arguments, after the
// frozen values, and the first group of a training step's results.
void set_sharding(StepProgram& out, const ShardingPlan& placement, const ComputePolicy& compute,
                  bool state_is_result = false) {
  Program& p = out.program;
  const StateLayout &state = out.state, &held = out.held;
  p.form = placement.form;
  p.form.exact_products = compute.exact_products;
  p.replicas = placement.replicas();
  if (placement.partition.mesh.empty()) return p.argument_sharding.clear();
  p.mesh = placement.partition.mesh;
  p.argument_sharding.resize(
      p.graph.arguments().size() - held.tensors.size() - state.tensors.size(), Sharding{});
  for (const StateLayout* layout : {&held, &state})
    for (const StateTensor& tensor : layout->tensors)
      p.argument_sharding.push_back(tensor.sharding);
  if (state_is_result)
    for (const StateTensor& tensor : state.tensors) p.result_sharding.push_back(tensor.sharding);
  p.result_sharding.resize(p.results.size(), Sharding{});
}

ComputePolicy with_sharding(ComputePolicy compute, const Task& task,
                            const ShardingPlan& placement) {
  PartitionRules partition = placement.partition;
  partition.names = task.dim_names;
  compute.partition = std::make_shared<const PartitionRules>(std::move(partition));
  compute.replicas = placement.replicas();
  return compute;
}

// The gradients of a step, clipped.
struct ClippedGradients {
  Tensor loss;  // the loss as reported
  std::vector<Tensor> gradients;
  Tensor norm;
  Tensor totals;
};

// Returns the clipped gradients of the whole batch.
ClippedGradients clipped_gradients(const TrainingConfig& c, const ShardingPlan& placement,
                                   const GradientJob& job,
                                   const std::vector<const Parameter*>& of) {
  const bool per_replica = c.reduction == Reduction::per_replica;
  Gradients own = gradients_of(job);
  ClippedGradients out;
  out.gradients = std::move(own.of_parameters);
  for (std::size_t i = 0; i < of.size(); ++i)
    out.gradients[i] = c.rules.mask_frozen(*of[i], out.gradients[i]);
  out.totals = job.measures.totals(own.sums, placement);
  const auto sum_all = [&] {
    for (Tensor& g : out.gradients) g = sum_over_replicas(g, placement);
  };
  if (!per_replica) sum_all();
  out.norm = global_norm(out.gradients);
  if (c.clip_norm > 0) out.gradients = clip_by_global_norm(out.gradients, out.norm, c.clip_norm);
  if (c.clip_value > 0)
    for (Tensor& g : out.gradients) g = clip_by_value(g, c.clip_value);
  out.loss =
      job.measures.loss(per_replica ? own.sums : job.measures.sums_in(out.totals), c.reduction);
  if (!per_replica) return out;
  sum_all();
  const double share = 1.0 / static_cast<double>(placement.replicas());
  out.loss = sum_over_replicas(out.loss, placement) * share;
  out.norm = sum_over_replicas(out.norm, placement) * share;
  return out;
}

// Returns the parameters that the loss depends on and that no rule freezes.
std::vector<const Parameter*> trainable_parameters(const Parameters& parameters,
                                                   const Measures& measures,
                                                   const ParameterRules& rules) {
  rules.check(parameters.all());
  const auto nodes = reachable(std::span(measures.sums).first(measures.losses));
  const std::unordered_set<const Node*> reached(nodes.begin(), nodes.end());
  std::vector<const Parameter*> out;
  for (const Parameter& p : parameters.all())
    if (reached.contains(&p.tensor.node()) && !rules.frozen(p)) out.push_back(&p);
  if (out.empty())
    throw UsageError("train: every parameter that the loss depends on is frozen",
                     "remove a rule that sets a rate of 0");
  return out;
}

// Returns the losses of the objective, then its metrics.
std::vector<Metric*> measures_in(Objective& objective) {
  std::vector<Metric*> out;
  for (auto* list : {&objective.losses, &objective.metrics})
    for (Metric& m : *list) out.push_back(&m);
  return out;
}

// Returns the sum and weight of each measure in turn.
std::vector<Tensor> figures_of(Objective objective) {
  std::vector<Tensor> out;
  for (const Metric* m : measures_in(objective)) {
    out.push_back(m->sum);
    out.push_back(m->weight);
  }
  return out;
}

using Figures = std::function<std::vector<Tensor>(const Scope& root, const Inputs& inputs)>;

// Returns the means of `figures` over several random draws, in a loop. `first` are the figures of
// one draw, which also declared the parameters.
std::vector<Tensor> mean_over_draws(const Scope& root, const io::Features& features,
                                    const std::vector<Tensor>& batch, std::int64_t draws,
                                    const Figures& figures, const std::vector<Tensor>& first) {
  const Tensor zeros = constant(root.graph(), 0, DType::f32, vector_of(first).dims());
  const Tensor sums = scan(root.graph(), draws, {zeros}, RematPolicy::none,
                           [&](ScanBody& body, std::span<const Tensor> carry) -> ScanStep {
                             RandomSource random = *root.random_source();
                             random.step = body.index();
                             std::vector<Tensor> rows;
                             for (const Tensor& t : batch) rows.push_back(body.graph().capture(t));
                             const Scope inner = root.within(body.graph(), random);
                             const Tensor drawn = vector_of(figures(inner, Inputs(features, rows)));
                             return {.carry = {carry[0] + drawn}};
                           })
                          .carry[0];
  return split_like(sums / static_cast<double>(draws), first);
}

// Returns the objective `first` with the sums and weights replaced by means over `passes` draws.
Objective mean_over_passes(const Task& task, const Scope& root, const std::vector<Tensor>& batch,
                           std::int64_t passes, Objective first) {
  const auto figures = [&](const Scope& scope, const Inputs& inputs) {
    return figures_of(task.objective(scope, inputs));
  };
  const auto means =
      mean_over_draws(root, task.features, batch, passes, figures, figures_of(first));
  auto mean = means.begin();
  for (Metric* m : measures_in(first)) {
    m->sum = *mean++;
    m->weight = *mean++;
  }
  return first;
}

// Returns the new values and slots of all parameters.
Carried apply_optimizer(const TrainingConfig& c, const OptimizerStep& step,
                        const Parameters& parameters, const Carried& before,
                        const std::unordered_map<Tensor, Tensor>& gradients) {
  std::span<const Tensor> slots = before.slots;
  Carried out;
  for (const Parameter& p : parameters.all()) {
    const auto own = slots.first(c.optimizer.slots(p).size());
    slots = slots.subspan(own.size());
    const auto gradient = gradients.find(p.tensor);
    UpdatedParameter updated{.value = p.tensor, .slots = {own.begin(), own.end()}};
    const double decay = c.optimizer.weight_decay ? c.optimizer.weight_decay(p) : 0;
    if (gradient != gradients.end()) {
      updated = c.optimizer.update(c.rules.of(p, step, decay), p, own, gradient->second);
      updated.value = renewed(step, p.tensor, c.rules.keep_frozen(p, updated.value));
    }
    out.values.push_back(updated.value);
    out.slots.insert(out.slots.end(), updated.slots.begin(), updated.slots.end());
  }
  return out;
}

// The forward and backward pass of a step.
struct BackwardPass {
  RandomSource random;
  Tensor rate = {};                       // empty: not an argument
  std::vector<Tensor> wishes = {};        // counts per consensus flag; empty: not an argument
  std::int64_t first_value = 0;           // index of the first parameter's argument
  std::vector<const Parameter*> of = {};  // the parameters with gradients
  ClippedGradients clipped = {};
  std::vector<ReportedMeasure> reported = {};
  std::shared_ptr<const PartitionRules> partition = {};

  std::unordered_map<Tensor, Tensor> gradients() const {
    std::unordered_map<Tensor, Tensor> out;
    for (std::size_t i = 0; i < of.size(); ++i) out[of[i]->tensor] = clipped.gradients[i];
    return out;
  }
};

BackwardPass backward_pass(const Task& task, const TrainingConfig& c, StepProgram& out,
                           Parameters& parameters) {
  Program& p = out.program;
  const std::int64_t rows = rows_per_program(c.batch_size, out.placement, c.micro_batches);
  const auto batch = batch_arguments(p, task.features, rows, out.placement);
  BackwardPass backward{.random = random_arguments(out, c, rows)};
  if (out.rate) backward.rate = p.graph.argument({DType::f32, {}});
  if (c.takes_wishes) backward.wishes = consensus_flags_argument(p, out.placement);
  backward.random.keys = keys_argument(p.graph);
  backward.first_value = std::ssize(p.graph.arguments());
  ComputePolicy compute = with_sharding(c.compute, task, out.placement);
  if (task.splits_batch) compute.micro_batches = c.micro_batches;
  const Scope root(p.graph, parameters, backward.random, compute);
  const Measures measures(task.objective(root, Inputs(task.features, batch)), out.placement);
  backward.first_value += take_frozen_model(task, root, parameters, out);
  backward.of = trainable_parameters(parameters, measures, c.rules);
  std::vector<Tensor> wrt;
  for (const Parameter* parameter : backward.of) wrt.push_back(parameter->tensor);
  backward.clipped = clipped_gradients(c, out.placement,
                                       {.task = task,
                                        .batch = batch,
                                        .root = root,
                                        .measures = measures,
                                        .wrt = wrt,
                                        .micro_batches = c.micro_batches,
                                        .reduction = c.reduction},
                                       backward.of);
  backward.reported = measures.reported;
  out.keys = backward.random.keys->of_seed(c.seed);
  backward.partition = root.compute().partition;
  return backward;
}

}  // namespace

StepProgram train_program(const Task& task, const TrainingConfig& c,
                          const ShardingPlan& placement) {
  StepProgram out{.features = task.features, .takes_step = true, .placement = placement};
  out.takes_wishes = c.takes_wishes;
  out.rate = rate_by_step(c);
  Program& p = out.program;
  Parameters parameters;
  const BackwardPass backward = backward_pass(task, c, out, parameters);
  const ClippedGradients& g = backward.clipped;
  out.state = carried_layout(c, parameters, *backward.partition);
  const Carried before = carried_arguments(p.graph, out.state, c, parameters);
  const Tensor step = backward.random.step, rate = backward.rate;
  out.report = {.figures = {"loss", "gradient_norm", "learning_rate"},
                .measures = backward.reported};
  std::vector<Tensor> figures{g.loss, g.norm, rate};
  Tensor spike;
  if (before.losses) {
    spike = is_spike(c.spikes, before.losses, g.loss, step);
    out.report.figures.emplace_back(kSpikeFigure);
    figures.push_back(convert(spike, DType::f32));
  }
  report_consensus_flags(backward.wishes, out.report.figures, figures);
  const StepVerdict verdict = judge_step(before.flag, g.loss, g.norm, spike);
  const bool sums_in_slices = placement.form.sums_as_products && placement.partition.mesh.empty();
  Carried next = apply_optimizer(
      c, {.rate = rate, .step = step, .sums_in_slices = sums_in_slices, .apply = verdict.apply},
      parameters, before, backward.gradients());
  for (std::size_t i = 0; i < before.averages.size(); ++i) {
    const Tensor old = before.averages[i];
    next.averages.push_back(
        select(verdict.apply, next_average(c.ema_decay, old, next.values[i]), old));
  }
  if (spike) next.losses = select(verdict.good, next_losses(before.losses, g.loss), before.losses);
  next.flag = next_flag(verdict, before.flag);
  p.results = next.in_order();
  for (std::size_t i = 0; i < p.results.size(); ++i)
    p.donated_by.push_back(backward.first_value + static_cast<std::int64_t>(i));
  p.results.push_back(concatenate({vector_of(figures), g.totals}, 0));
  p.donated_by.push_back(-1);
  set_sharding(out, placement, c.compute, true);
  return out;
}

StepProgram gradient_program(const Task& task, const TrainingConfig& config,
                             const ShardingPlan& placement) {
  StepProgram out{.features = task.features, .takes_step = true, .placement = placement};
  TrainingConfig c = config;
  c.clip_norm = c.clip_value = 0;
  c.takes_wishes = false;
  Parameters parameters;
  const BackwardPass backward = backward_pass(task, c, out, parameters);
  std::vector<Tensor> figures{backward.clipped.loss, backward.clipped.norm};
  out.report.figures = {"loss", "gradient_norm"};
  for (std::size_t i = 0; i < backward.of.size(); ++i) {
    const Parameter& p = *backward.of[i];
    const Tensor g = backward.clipped.gradients[i];
    Dims axes;
    for (std::int64_t axis = p.layers > 0 ? 1 : 0; axis < g.rank(); ++axis) axes.push_back(axis);
    figures.push_back(sqrt(reduce_sum(square(g), axes)));
    for (std::string& name : p.names()) out.report.figures.push_back(std::move(name));
  }
  out.program.results = {vector_of(figures)};
  out.state = values_layout(parameters, *backward.partition);
  set_sharding(out, placement, c.compute);
  return out;
}

StepProgram eval_program(const Task& task, std::int64_t batch_size, const ShardingPlan& placement,
                         ComputePolicy compute, std::int64_t passes, bool takes_wishes) {
  if (passes > 1 && !task.draws)
    throw UsageError(str("eval: eval.passes is ", passes,
                         ", must be 1 for a model without random draws: ", task.name),
                     "set eval.passes to 1");
  StepProgram out{.features = task.features, .takes_wishes = takes_wishes, .placement = placement};
  Program& p = out.program;
  const auto batch =
      batch_arguments(p, task.features, rows_per_program(batch_size, placement), placement);
  Parameters parameters;
  compute.save = RematPolicy::none;
  const auto random = numbered_examples(task.draws, out, batch_size);
  const auto wishes = takes_wishes ? consensus_flags_argument(p, placement) : std::vector<Tensor>();
  const Scope root(p.graph, parameters, random, with_sharding(compute, task, placement));
  Objective objective = task.objective(root, Inputs(task.features, batch));
  if (passes > 1) objective = mean_over_passes(task, root, batch, passes, objective);
  const Measures measures(objective, placement);
  const Tensor totals = measures.totals(measures.sums, placement);
  const Tensor loss = measures.loss(measures.sums_in(totals), Reduction::global);
  std::vector<Tensor> figures{loss};
  out.report = {.figures = {"loss"}, .measures = measures.reported};
  report_consensus_flags(wishes, out.report.figures, figures);
  p.results = {concatenate({vector_of(figures), totals}, 0)};
  out.state = values_layout(parameters, *root.compute().partition);
  set_sharding(out, placement, compute);
  return out;
}

StepProgram predict_program(const Prediction& prediction, std::int64_t batch_size,
                            ComputePolicy compute, const ShardingPlan& placement) {
  CHECK(placement.replicas() == 1 && batch_size % placement.row_shards() == 0, batch_size);
  StepProgram out{.features = prediction.features, .placement = placement};
  Program& p = out.program;
  const auto batch = batch_arguments(p, prediction.features, batch_size, placement);
  Parameters parameters;
  const auto random = numbered_examples(prediction.draws > 0, out, batch_size);
  compute.save = RematPolicy::none;
  compute.partition = std::make_shared<const PartitionRules>(placement.partition);
  const Scope root(p.graph, parameters, random, compute);
  p.results = prediction.outputs(root, Inputs(prediction.features, batch));
  if (prediction.draws > 1)
    p.results = mean_over_draws(root, prediction.features, batch, prediction.draws,
                                prediction.outputs, p.results);
  out.state = values_layout(parameters, placement.partition);
  set_sharding(out, placement, compute);
  return out;
}

}  // namespace smelt::model
