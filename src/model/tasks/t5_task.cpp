#include "model/tasks/t5_task.h"

#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/nn/layers.h"

namespace smelt {
namespace {

void check_t5_task(const T5Task& c) {
  check_t5_config(c.model, [](const std::string&) { return "t5"; });
  if (!(c.settings.z_loss >= 0 && std::isfinite(c.settings.z_loss)))
    throw UsageError(str("t5: z_loss is ", c.settings.z_loss, ", must be a number from 0 on"),
                     "1e-4 is T5's, 0 for none");
}

Tensor as_weights(Tensor fine) { return convert(fine, DType::f32); }

// Ids in the range as 1.
Tensor ids_within(Tensor ids, const IdRange& range) {
  const auto bound = [&](std::int64_t id) { return full_like(ids, static_cast<double>(id)); };
  return as_weights(bitwise_and(compare(ids, bound(range.begin), Compare::ge),
                                compare(ids, bound(range.end), Compare::lt)));
}

// The end of the model on targets; `told` receives what is said on the way.
LmHead words_scored(const Scope& root, const T5Config& c, Tensor inputs, Tensor targets,
                    ForwardOutputs* told) {
  const auto rows = targets.shape().elements();
  LayerStates* encoder = told ? &told->stacks.at(0) : nullptr;
  LayerStates* decoder = told ? &told->stacks.at(1) : nullptr;
  const Tensor states = t5(root, c, inputs, t5_decoder_inputs(targets), encoder, decoder);
  const LmHead head = t5_word_head(root, c, reshape(states, {rows, c.d_model}));
  if (told == nullptr) return head;
  const auto given = [](Tensor ids) {
    return convert(compare(ids, zeros_like(ids), Compare::ne), DType::s32);
  };
  encoder->mask = given(inputs);
  decoder->mask = given(targets);
  told->words = head;
  told->weights = convert(reshape(decoder->mask, {rows}), DType::f32);
  return head;
}

OutputSpec told_sizes(const T5Config& c) {
  return {.scores = Scores::classes,
          .columns = c.vocab_size,
          .of_words = true,
          .vocab_size = c.vocab_size,
          .stacks = {{.what = "encoder", .layers = c.num_layers, .width = c.d_model},
                     {.what = "decoder", .layers = c.decoder_layers(), .width = c.d_model}}};
}

Objective t5_objective(const Scope& root, const T5Task& c, Tensor inputs, Tensor targets,
                       ForwardOutputs* told) {
  const auto rows = targets.shape().elements();
  const Tensor labels = reshape(targets, {rows});
  const LabelScores found =
      score_labels(root, words_scored(root, c.model, inputs, targets, told), labels);
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
    // Rows without targets only fill a batch up.
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
  task.settings = {{"model", config_json(c.model)}, {"objective", config_json(c.settings)}};
  const auto ids = [&](const char* name, std::int64_t length) {
    return Feature{
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
  task.tells = {.sizes = told_sizes(c.model),
                .objective = [c](const Scope& root, const Inputs& in, ForwardOutputs& told) {
                  return t5_objective(root, c, in["inputs"], in["targets"], &told);
                }};
  return task;
}

Teacher t5_teacher(const T5Config& c, FrozenModel model) {
  model.dim_names = [c](std::string_view parameter) { return t5_dim_names(c, parameter); };
  return {.model = std::move(model),
          .sizes = told_sizes(c),
          .settings = config_json(c),
          .tell = [c](const Scope& root, const Inputs& in, ForwardOutputs& told) {
            (void)words_scored(root, c, in["inputs"], in["targets"], &told);
          }};
}

}  // namespace smelt
