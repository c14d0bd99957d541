#include "model/train_step/program.h"

#include <unordered_set>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "model/optim/clip.h"
#include "model/train_step/averages.h"
#include "model/train_step/carried.h"
#include "model/train_step/gradients.h"
#include "model/train_step/held_model.h"
#include "model/train_step/number_arguments.h"
#include "model/train_step/step_guard.h"

namespace smelt {
namespace {

std::vector<Tensor> batch_arguments(Program& p, const Features& features, std::int64_t rows,
                                    const ShardingPlan& placement) {
  std::vector<Tensor> tensors;
  for (const Feature& feature : features) {
    Dims dims = feature.row;
    dims.insert(dims.begin(), rows);
    p.argument_sharding.push_back({DimAxes(dims.size())});
    p.argument_sharding.back().axes[0] = placement.partition.row_axes();
    tensors.push_back(p.graph.argument({feature.dtype, std::move(dims)}));
  }
  return tensors;
}

// The rows of one program: all of the batch, or one replica's share of it.
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
                     str("choose micro-batches that divide ", own));
  return batch_size / placement.replicas();
}

// The state is the last of the arguments, behind what is held; it is a step's first results.
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

ComputePolicy split(ComputePolicy compute, const Task& task, const ShardingPlan& placement) {
  PartitionRules partition = placement.partition;
  partition.names = task.dim_names;
  compute.partition = std::make_shared<const PartitionRules>(std::move(partition));
  return compute;
}

struct ClippedGradients {
  Tensor loss;  // as reported
  std::vector<Tensor> gradients;
  Tensor norm;
  Tensor totals;
};

// Gradients of the whole batch, clipped.
ClippedGradients clipped_gradients(const TrainingConfig& c, const ShardingPlan& placement,
                                   const GradientJob& job,
                                   const std::vector<const Parameter*>& of) {
  const bool alone = c.reduction == Reduction::per_replica;
  Gradients own = gradients_of(job);
  ClippedGradients out;
  out.gradients = std::move(own.of_parameters);
  for (std::size_t i = 0; i < of.size(); ++i)
    out.gradients[i] = c.rules.mask_frozen(*of[i], out.gradients[i]);
  out.totals = job.measures.totals(own.sums, placement);
  const auto sum_all = [&] {
    for (Tensor& g : out.gradients) g = sum_over_replicas(g, placement);
  };
  if (!alone) sum_all();
  out.norm = global_norm(out.gradients);
  if (c.clip_norm > 0) out.gradients = clip_by_global_norm(out.gradients, out.norm, c.clip_norm);
  if (c.clip_value > 0)
    for (Tensor& g : out.gradients) g = clip_by_value(g, c.clip_value);
  out.loss = job.measures.loss(alone ? own.sums : job.measures.sums_in(out.totals), c.reduction);
  if (!alone) return out;
  sum_all();
  const double share = 1.0 / static_cast<double>(placement.replicas());
  out.loss = sum_over_replicas(out.loss, placement) * share;
  out.norm = sum_over_replicas(out.norm, placement) * share;
  return out;
}

// The parameters that a loss depends on and no rule freezes.
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
                     "leave some out of the rules that set a rate of 0");
  return out;
}

// The measures of the objective's losses, then of its metrics.
std::vector<Metric*> measures_in(Objective& objective) {
  std::vector<Metric*> out;
  for (auto* list : {&objective.losses, &objective.metrics})
    for (Metric& m : *list) out.push_back(&m);
  return out;
}

// Sums and weights of each measure, one after another.
std::vector<Tensor> figures_of(Objective objective) {
  std::vector<Tensor> out;
  for (const Metric* m : measures_in(objective)) {
    out.push_back(m->sum);
    out.push_back(m->weight);
  }
  return out;
}

using Figures = std::function<std::vector<Tensor>(const Scope& root, const Inputs& inputs)>;

// The means of scalars and vectors over draws, in a loop; `first` are those of one, which has
// declared the parameters.
std::vector<Tensor> over_draws(const Scope& root, const Features& features,
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

// The same of an objective.
Objective over_passes(const Task& task, const Scope& root, const std::vector<Tensor>& batch,
                      std::int64_t passes, Objective first) {
  const auto figures = [&](const Scope& scope, const Inputs& inputs) {
    return figures_of(task.objective(scope, inputs));
  };
  const auto means = over_draws(root, task.features, batch, passes, figures, figures_of(first));
  auto mean = means.begin();
  for (Metric* m : measures_in(first)) {
    m->sum = *mean++;
    m->weight = *mean++;
  }
  return first;
}

// The new values and slots of all parameters.
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

// A step's forward and backward pass.
struct BackwardPass {
  RandomSource random;
  Tensor rate = {};                       // empty: it is not taken
  std::vector<Tensor> wishes = {};        // empty: none are taken
  std::int64_t first_value = 0;           // the number of the first parameter's argument
  std::vector<const Parameter*> of = {};  // whose gradients these are
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
  if (c.takes_wishes) backward.wishes = wishes_argument(p, out.placement);
  backward.random.keys = keys_argument(p.graph);
  backward.first_value = std::ssize(p.graph.arguments());
  const Scope root(p.graph, parameters, backward.random, split(c.compute, task, out.placement));
  const Measures measures(task.objective(root, Inputs(task.features, batch)), out.placement);
  backward.first_value += take_held(task, root, parameters, out);
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
  report_wishes(backward.wishes, out.report.figures, figures);
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
    throw UsageError(str("eval: ", passes, " passes of a model that draws nothing: ", task.name),
                     "set eval.passes to 1");
  StepProgram out{.features = task.features, .takes_wishes = takes_wishes, .placement = placement};
  Program& p = out.program;
  const auto batch =
      batch_arguments(p, task.features, rows_per_program(batch_size, placement), placement);
  Parameters parameters;
  compute.save = RematPolicy::none;
  const auto random = numbered_examples(task.draws, out, batch_size);
  const auto wishes = takes_wishes ? wishes_argument(p, placement) : std::vector<Tensor>();
  const Scope root(p.graph, parameters, random, split(compute, task, placement));
  Objective objective = task.objective(root, Inputs(task.features, batch));
  if (passes > 1) objective = over_passes(task, root, batch, passes, objective);
  const Measures measures(objective, placement);
  const Tensor totals = measures.totals(measures.sums, placement);
  const Tensor loss = measures.loss(measures.sums_in(totals), Reduction::global);
  std::vector<Tensor> figures{loss};
  out.report = {.figures = {"loss"}, .measures = measures.reported};
  report_wishes(wishes, out.report.figures, figures);
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
    p.results = over_draws(root, prediction.features, batch, prediction.draws, prediction.outputs,
                           p.results);
  out.state = values_layout(parameters, placement.partition);
  set_sharding(out, placement, compute);
  return out;
}

}  // namespace smelt
