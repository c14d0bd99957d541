#include "model/tasks/t5_task.h"

#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::bitwise_and;
using compiler::Compare;
using compiler::compare;
using compiler::convert;
using compiler::DType;
using compiler::full_like;
using compiler::reduce_max;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

void check_t5_task(const T5Task& c) {
  check_t5_config(c.model, [](const std::string&) { return "t5"; });
  if (!(c.settings.z_loss >= 0 && std::isfinite(c.settings.z_loss)))
    throw UsageError(str("t5: z_loss is ", c.settings.z_loss, ", must be at least 0"),
                     "T5 uses 1e-4; 0 disables it");
}

Tensor as_weights(Tensor condition) { return convert(condition, DType::f32); }

// Returns 1 for ids in the range, 0 elsewhere.
Tensor ids_within(Tensor ids, const IdRange& range) {
  const auto bound = [&](std::int64_t id) { return full_like(ids, static_cast<double>(id)); };
  return as_weights(bitwise_and(compare(ids, bound(range.begin), Compare::ge),
                                compare(ids, bound(range.end), Compare::lt)));
}

// Returns the LM head on the decoder's output; stores intermediate outputs in `outputs` if not
// null.
LmHead words_scored(const Scope& root, const T5Config& c, Tensor inputs, Tensor targets,
                    ForwardOutputs* outputs) {
  const auto rows = targets.shape().elements();
  LayerStates* encoder = outputs ? &outputs->stacks.at(0) : nullptr;
  LayerStates* decoder = outputs ? &outputs->stacks.at(1) : nullptr;
  const Tensor states = t5(root, c, inputs, t5_decoder_inputs(targets), encoder, decoder);
  const LmHead head = t5_word_head(root, c, reshape(states, {rows, c.d_model}));
  if (outputs == nullptr) return head;
  const auto is_token = [](Tensor ids) {
    return convert(compare(ids, zeros_like(ids), Compare::ne), DType::s32);
  };
  encoder->mask = is_token(inputs);
  decoder->mask = is_token(targets);
  outputs->words = head;
  outputs->weights = convert(reshape(decoder->mask, {rows}), DType::f32);
  return head;
}

OutputSpec output_spec(const T5Config& c) {
  return {.scores = Scores::classes,
          .columns = c.vocab_size,
          .of_words = true,
          .vocab_size = c.vocab_size,
          .stacks = {{.what = "encoder", .layers = c.num_layers, .width = c.d_model},
                     {.what = "decoder", .layers = c.decoder_layers(), .width = c.d_model}}};
}

Objective t5_objective(const Scope& root, const T5Task& c, Tensor inputs, Tensor targets,
                       ForwardOutputs* outputs) {
  const auto rows = targets.shape().elements();
  const Tensor labels = reshape(targets, {rows});
  const LabelScores found =
      score_labels(root, words_scored(root, c.model, inputs, targets, outputs), labels);
  const Tensor counted = as_weights(compare(labels, zeros_like(labels), Compare::ne));
  const auto over = [&](const char* name, Tensor of_rows, Tensor of) {
    return Metric{
        .name = name, .sum = reduce_sum(of_rows * of, {0}), .weight = reduce_sum(of, {0})};
  };
  Objective out;
  out.losses.push_back(over("target_loss", found.loss, counted));
  if (c.settings.z_loss > 0) {
    out.losses.push_back(over("z_loss", square(found.log_sum), counted));
    out.losses.back().factor = c.settings.z_loss;
  }
  if (c.settings.loss_over == LossOver::examples) {
    // Rows without targets are padding.
    const Tensor examples = reduce_sum(reduce_max(reshape(counted, targets.dims()), {1}), {0});
    for (Metric& loss : out.losses) loss.weight = examples;
  }
  if (root.training()) return out;
  const Tensor right = as_weights(compare(found.best, labels, Compare::eq));
  out.metrics.push_back(over("target_accuracy", right, counted));
  if (c.words.empty()) return out;
  Tensor words = ids_within(labels, c.words.front());
  for (std::size_t i = 1; i < c.words.size(); ++i) words = words + ids_within(labels, c.words[i]);
  out.metrics.push_back(over("word_loss", found.loss, words));
  out.metrics.push_back(over("word_accuracy", right, words));
  return out;
}

}  // namespace

Task t5_task(const T5Task& c) {
  check_t5_task(c);
  Task task;
  task.name = "t5";
  task.settings = {{"model", io::config_json(c.model)}, {"objective", io::config_json(c.settings)}};
  const auto ids = [&](const char* name, std::int64_t length) {
    return io::Feature{
        .name = name, .row = {length}, .limit = c.model.vocab_size, .limit_name = "vocab_size"};
  };
  task.features = {ids("inputs", c.inputs_length), ids("targets", c.targets_length)};
  task.tokens = c.inputs_length >= c.targets_length ? "inputs" : "targets";
  task.row_weights = {"targets"};
  task.dim_names = [model = c.model](std::string_view parameter) {
    return t5_dim_names(model, parameter);
  };
  task.objective = [c](const Scope& root, const Inputs& in) {
    return t5_objective(root, c, in["inputs"], in["targets"], nullptr);
  };
  task.tells = {.sizes = output_spec(c.model),
                .objective = [c](const Scope& root, const Inputs& in, ForwardOutputs& outputs) {
                  return t5_objective(root, c, in["inputs"], in["targets"], &outputs);
                }};
  return task;
}

Teacher t5_teacher(const T5Config& c, FrozenModel model) {
  model.dim_names = [c](std::string_view parameter) { return t5_dim_names(c, parameter); };
  return {.model = std::move(model),
          .sizes = output_spec(c),
          .settings = io::config_json(c),
          .forward = [c](const Scope& root, const Inputs& in, ForwardOutputs& outputs) {
            (void)words_scored(root, c, in["inputs"], in["targets"], &outputs);
          }};
}

}  // namespace smelt::model
