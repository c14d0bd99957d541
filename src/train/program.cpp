#include "train/program.h"

#include <unordered_set>

#include "base/error.h"
#include "ops/ops.h"
#include "optim/clip.h"
#include "train/gradients.h"

namespace smelt {
namespace {

std::vector<Tensor> batch_arguments(Program& p, const Features& features, std::int64_t rows) {
  std::vector<Tensor> tensors;
  for (const Feature& feature : features) {
    Dims dims = feature.row;
    dims.insert(dims.begin(), rows);
    Sharding by_rows{{"data"}};
    by_rows.axes.resize(dims.size());
    p.argument_sharding.push_back(std::move(by_rows));
    tensors.push_back(p.graph.argument({feature.dtype, std::move(dims)}));
  }
  return tensors;
}

// The rows of one program: all of the batch, or one replica's part of it.
std::int64_t rows_per_program(std::int64_t batch_size, const Placement& placement,
                              std::int64_t micro_batches = 1) {
  if (batch_size < 1 || batch_size % placement.devices != 0)
    throw UsageError(str("a batch of ", batch_size, " examples does not divide over ",
                         placement.devices, " devices"),
                     str("choose a multiple of ", placement.devices));
  const std::int64_t own = batch_size / placement.devices;
  if (micro_batches < 1 || own % micro_batches != 0)
    throw UsageError(str("a batch of ", batch_size, " examples over ", placement.devices,
                         " devices, ", own, " each, does not divide into ", micro_batches,
                         " micro-batches"),
                     str("choose train.micro_batches that divide ", own));
  return batch_size / placement.replicas();
}

void place(Program& p, const Placement& placement) {
  p.sums_as_products = placement.sums_as_products;
  if (placement.devices == 1 || placement.spread == Spread::replicas)
    return p.argument_sharding.clear();
  p.mesh = {{"data", placement.devices}};
  p.argument_sharding.resize(p.graph.arguments().size(), Sharding{});
  p.result_sharding.resize(p.results.size(), Sharding{});
}

struct Learnt {
  Tensor loss;  // as reported
  std::vector<Tensor> gradients;
  Tensor norm;
  Tensor totals;
};

// Gradients of the whole batch, clipped.
Learnt learn(const TrainingConfig& c, const Placement& placement, const GradientJob& job) {
  const bool alone = c.reduction == Reduction::per_replica;
  Gradients own = gradients_of(job);
  Learnt out{.loss = {}, .gradients = std::move(own.of_parameters), .norm = {}, .totals = {}};
  out.totals = job.measures.totals(own.sums, placement);
  const auto sum_all = [&] {
    for (Tensor& g : out.gradients) g = sum_over_replicas(g, placement);
  };
  if (!alone) sum_all();
  out.norm = global_norm(out.gradients);
  if (c.clip_norm > 0) out.gradients = clip_by_global_norm(out.gradients, out.norm, c.clip_norm);
  out.loss = job.measures.loss(alone ? own.sums : job.measures.sums_in(out.totals), c.reduction);
  if (!alone) return out;
  sum_all();
  const double share = 1.0 / static_cast<double>(placement.replicas());
  out.loss = sum_over_replicas(out.loss, placement) * share;
  out.norm = sum_over_replicas(out.norm, placement) * share;
  return out;
}

// The parameters that a loss depends on.
std::vector<Parameter> trained(const Parameters& parameters, const Measures& measures) {
  const auto nodes = reachable(std::span(measures.sums).first(measures.losses));
  const std::unordered_set<const Node*> reached(nodes.begin(), nodes.end());
  std::vector<Parameter> out;
  for (const Parameter& p : parameters.all())
    if (reached.contains(&p.tensor.node())) out.push_back(p);
  return out;
}

// Arguments for all slots, and the new state in its layout's order.
std::vector<Tensor> apply_optimizer(const Optimizer& optimizer, const OptimizerStep& step,
                                    Graph& graph, const Parameters& parameters,
                                    const std::unordered_map<Tensor, Tensor>& gradients) {
  std::vector<Tensor> values, slots;
  for (const Parameter& p : parameters.all()) {
    std::vector<Tensor> own;
    for (const Slot& slot : optimizer.slots(p.name, p.tensor.dims()))
      own.push_back(graph.argument({DType::f32, slot.dims}));
    const auto gradient = gradients.find(p.tensor);
    UpdatedParameter updated{.value = p.tensor, .slots = own};
    if (gradient != gradients.end())
      updated = optimizer.update(step, p.name, p.tensor, own, gradient->second);
    values.push_back(updated.value);
    slots.insert(slots.end(), updated.slots.begin(), updated.slots.end());
  }
  values.insert(values.end(), slots.begin(), slots.end());
  return values;
}

}  // namespace

StepProgram train_program(const Task& task, const TrainingConfig& c, const Placement& placement) {
  StepProgram out{.features = task.features, .takes_step = true, .placement = placement};
  Program& p = out.program;
  const std::int64_t rows = rows_per_program(c.batch_size, placement, c.micro_batches);
  const auto batch = batch_arguments(p, task.features, rows);
  RandomSource random{.seed = c.seed, .step = p.graph.argument({DType::s32, {}})};
  out.takes_replica = placement.spread == Spread::replicas;
  if (out.takes_replica) {
    const Tensor replica = p.graph.argument({DType::s32, {}});
    if (c.reduction == Reduction::per_replica)
      random.stream = replica;
    else
      random.first_row = replica * full_like(replica, static_cast<double>(rows));
  }

  const auto first_value = std::ssize(p.graph.arguments());
  Parameters parameters;
  const Scope root(p.graph, parameters, random, c.compute);
  const Measures measures(task.objective(root, Inputs(task.features, batch)), placement);
  const auto learnt = trained(parameters, measures);
  std::vector<Tensor> wrt;
  for (const Parameter& parameter : learnt) wrt.push_back(parameter.tensor);
  const Learnt g = learn(c, placement,
                         {.task = task,
                          .batch = batch,
                          .root = root,
                          .measures = measures,
                          .wrt = wrt,
                          .micro_batches = c.micro_batches,
                          .reduction = c.reduction});
  std::unordered_map<Tensor, Tensor> gradient_of;
  for (std::size_t i = 0; i < wrt.size(); ++i) gradient_of[wrt[i]] = g.gradients[i];

  const Tensor rate = learning_rate(c.schedule, random.step);
  p.results = apply_optimizer(c.optimizer, {.rate = rate, .step = random.step}, p.graph, parameters,
                              gradient_of);
  for (std::size_t i = 0; i < p.results.size(); ++i)
    p.donated_by.push_back(first_value + static_cast<std::int64_t>(i));
  p.results.push_back(concatenate({vector_of({g.loss, g.norm, rate}), g.totals}, 0));
  p.donated_by.push_back(-1);
  out.state = training_layout(parameters, c.optimizer);
  out.report = {.figures = {"loss", "gradient_norm", "learning_rate"}, .measures = measures.names};
  place(p, placement);
  return out;
}

StepProgram eval_program(const Task& task, std::int64_t batch_size, const Placement& placement) {
  StepProgram out{.features = task.features, .placement = placement};
  Program& p = out.program;
  const auto batch = batch_arguments(p, task.features, rows_per_program(batch_size, placement));
  Parameters parameters;
  const Scope root(p.graph, parameters);
  const Measures measures(task.objective(root, Inputs(task.features, batch)), placement);
  const Tensor totals = measures.totals(measures.sums, placement);
  const Tensor loss = measures.loss(measures.sums_in(totals), Reduction::global);
  p.results = {concatenate({vector_of({loss}), totals}, 0)};
  out.state = values_layout(parameters);
  out.report = {.figures = {"loss"}, .measures = measures.names};
  place(p, placement);
  return out;
}

StepProgram predict_program(const Prediction& prediction, std::int64_t batch_size) {
  StepProgram out{.features = prediction.features};
  Program& p = out.program;
  const auto batch = batch_arguments(p, prediction.features, batch_size);
  Parameters parameters;
  const Scope root(p.graph, parameters);
  p.results = prediction.outputs(root, Inputs(prediction.features, batch));
  out.state = values_layout(parameters);
  place(p, out.placement);
  return out;
}

}  // namespace smelt
