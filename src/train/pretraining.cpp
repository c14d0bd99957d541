#include "train/pretraining.h"

#include "base/error.h"
#include "grad/grad.h"
#include "nn/layers.h"
#include "ops/ops.h"
#include "optim/clip.h"

namespace smelt {
namespace {

const Sharding kReplicated{};

struct Batch {
  BertInputs inputs;
  BertLabels labels;
};

// One argument split over the devices along its first dimension.
Tensor batch_argument(Program& p, DType dtype, Dims dims) {
  Sharding sharding{{"data"}};
  sharding.axes.resize(dims.size());
  p.argument_sharding.push_back(std::move(sharding));
  return p.graph.argument({dtype, std::move(dims)});
}

Batch batch_arguments(Program& p, const BatchShape& shape, std::int64_t B) {
  const auto S = shape.seq_length, P = shape.max_predictions;
  const auto ints = [&](Dims dims) { return batch_argument(p, DType::s32, std::move(dims)); };
  Batch batch;
  batch.inputs = {
      .input_ids = ints({B, S}), .input_mask = ints({B, S}), .segment_ids = ints({B, S})};
  batch.labels.masked_lm_positions = ints({B, P});
  batch.labels.masked_lm_ids = ints({B, P});
  batch.labels.masked_lm_weights = batch_argument(p, DType::f32, {B, P});
  batch.labels.next_sentence_labels = ints({B});
  return batch;
}

// The rows of one program: all of the batch, or one replica's part of it.
std::int64_t rows_per_program(const PretrainingConfig& c) {
  if (c.batch.batch_size % c.devices != 0)
    throw UsageError(str("train: batch size ", c.batch.batch_size, " does not divide over ",
                         c.devices, " devices"),
                     str("choose a multiple of ", c.devices));
  return c.reduction == Reduction::per_replica ? c.batch.batch_size / c.devices
                                               : c.batch.batch_size;
}

void set_mesh(const PretrainingConfig& c, Program& p) {
  if (c.devices > 1 && c.reduction == Reduction::global) {
    p.mesh = {{"data", c.devices}};
    p.argument_sharding.resize(p.graph.arguments().size(), kReplicated);
    p.result_sharding.resize(p.results.size(), kReplicated);
  } else {
    p.argument_sharding.clear();
  }
}

std::vector<Tensor> tensors_of(const Parameters& parameters) {
  std::vector<Tensor> tensors;
  for (const Parameter& p : parameters.all()) tensors.push_back(p.tensor);
  return tensors;
}

Tensor vector_of(const std::vector<Tensor>& scalars) {
  std::vector<Tensor> items;
  for (const Tensor& t : scalars) items.push_back(reshape(t, {1}));
  return concatenate(items, 0);
}

// New values, m and v of all parameters, in that order.
std::vector<Tensor> apply_optimizer(const PretrainingConfig& c, Program& p,
                                    const Parameters& parameters, std::span<const Tensor> gradients,
                                    Tensor rate, Tensor step) {
  std::vector<ParameterState> states;
  for (const Parameter& parameter : parameters.all())
    states.push_back({.value = parameter.tensor, .m = {}, .v = {}});
  for (auto& state : states) state.m = p.graph.argument(state.value.shape());
  for (auto& state : states) state.v = p.graph.argument(state.value.shape());
  for (std::size_t i = 0; i < states.size(); ++i)
    states[i] = adamw(c.optimizer, rate, step, states[i], gradients[i],
                      has_weight_decay(parameters.all()[i].name));
  std::vector<Tensor> results;
  for (const auto& state : states) results.push_back(state.value);
  for (const auto& state : states) results.push_back(state.m);
  for (const auto& state : states) results.push_back(state.v);
  return results;
}

Tensor total_loss(const PretrainingConfig& c, const BertPretraining& p) {
  return c.next_sentence ? p.loss : p.masked_lm_loss;
}

Tensor train_metrics(const PretrainingConfig& c, const BertPretraining& p, Tensor norm, Tensor rate,
                     double rows) {
  const Tensor metrics = vector_of({total_loss(c, p), p.masked_lm_loss, p.next_sentence_loss,
                                    p.masked_lm_correct / (p.masked_lm_weight + 1e-5),
                                    p.next_sentence_correct * (1.0 / rows), norm, rate});
  if (c.reduction == Reduction::global) return metrics;
  return all_reduce_sum(metrics, c.devices) * (1.0 / static_cast<double>(c.devices));
}

}  // namespace

void build_train_step(const PretrainingConfig& c, PretrainingProgram& out) {
  Program& p = out.program;
  const std::int64_t rows = rows_per_program(c);
  const Batch batch = batch_arguments(p, c.batch, rows);
  DropoutSource dropout{.seed = c.seed, .step = p.graph.argument({DType::s32, {}}), .replica = {}};
  out.takes_replica = c.reduction == Reduction::per_replica;
  if (out.takes_replica) dropout.replica = p.graph.argument({DType::s32, {}});

  const auto first_parameter = std::ssize(p.graph.arguments());
  const Scope root(p.graph, out.parameters, dropout);
  const BertPretraining model = bert_pretraining(root, c.model, batch.inputs, batch.labels);
  auto gradients = grad(total_loss(c, model), tensors_of(out.parameters));
  const Tensor norm = global_norm(gradients);
  if (c.clip_norm > 0) gradients = clip_by_global_norm(gradients, norm, c.clip_norm);
  if (c.reduction == Reduction::per_replica)
    for (Tensor& g : gradients) g = all_reduce_sum(g, c.devices);

  const Tensor rate = learning_rate(c.schedule, dropout.step);
  p.results = apply_optimizer(c, p, out.parameters, gradients, rate, dropout.step);
  for (std::size_t i = 0; i < p.results.size(); ++i)
    p.donated_by.push_back(first_parameter + static_cast<std::int64_t>(i));
  p.results.push_back(train_metrics(c, model, norm, rate, static_cast<double>(rows)));
  p.donated_by.push_back(-1);
  set_mesh(c, p);
}

void build_eval_step(const PretrainingConfig& config, PretrainingProgram& out) {
  PretrainingConfig c = config;
  c.reduction = Reduction::global;
  Program& p = out.program;
  const std::int64_t rows = rows_per_program(c);
  const Batch batch = batch_arguments(p, c.batch, rows);
  const Scope root(p.graph, out.parameters);
  const BertPretraining m = bert_pretraining(root, c.model, batch.inputs, batch.labels);
  const Tensor examples = full_like(m.loss, static_cast<double>(rows));
  p.results = {
      vector_of({total_loss(c, m), m.masked_lm_sum, m.masked_lm_weight, m.masked_lm_correct,
                 m.next_sentence_sum, m.next_sentence_correct, examples})};
  set_mesh(c, p);
}

void build_predict_step(const PretrainingConfig& c, std::int64_t top, PretrainingProgram& out) {
  Program& p = out.program;
  const auto B = c.batch.batch_size, S = c.batch.seq_length;
  const auto ints = [&](Dims dims) { return p.graph.argument({DType::s32, std::move(dims)}); };
  const BertInputs inputs{
      .input_ids = ints({B, S}), .input_mask = ints({B, S}), .segment_ids = ints({B, S})};
  const Tensor positions = ints({B, c.batch.max_predictions});
  const Scope root(p.graph, out.parameters);
  const BertEncoded encoded = bert(root, c.model, inputs);
  const Tensor logits = masked_lm_logits(root, c.model, encoded.sequence, positions);
  p.results = top_k(softmax(logits), top);
}

}  // namespace smelt
