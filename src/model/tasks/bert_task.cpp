#include "model/tasks/bert_task.h"

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/models/bert.h"
#include "model/nn/layers.h"
#include "model/tasks/metrics.h"
#include "model/tasks/token_features.h"

namespace smelt::model {

using compiler::argmax;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::ones_like;
using compiler::reduce_max;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::Tensor;
using compiler::top_k;
namespace {

void add_masked_lm(const BertTask& c, const Scope& root, const Inputs& in, Tensor sequence,
                   Objective& out, ForwardOutputs* outputs) {
  const LmHead head = masked_lm_head(root, c.model, sequence, in["masked_lm_positions"]);
  const auto rows = head.rows.dim(0);
  const Tensor ids = reshape(in["masked_lm_ids"], {rows});
  const Tensor weights = reshape(in["masked_lm_weights"], {rows});
  if (outputs) {
    outputs->words = head;
    outputs->weights = weights;
  }
  const LabelScores found = score_labels(root, head, ids);
  const Tensor weight = reduce_sum(weights, {0});
  out.losses.push_back({.name = "masked_lm_loss",
                        .sum = reduce_sum(found.loss * weights, {0}),
                        .weight = weight,
                        .norm = Norm::mean_epsilon});
  out.metrics.push_back({.name = "masked_lm_accuracy",
                         .sum = count_hits(found.best, ids, weights),
                         .weight = weight});
  if (c.majority_token)
    out.metrics.push_back({.name = "majority_token_accuracy",
                           .sum = count_hits(full_like(ids, *c.majority_token), ids, weights),
                           .weight = weight});
}

void add_next_sentence(const BertTask& c, const Scope& root, const Inputs& in, Tensor pooled,
                       Objective& out) {
  const Tensor labels = in["next_sentence_labels"];
  const Tensor logits = next_sentence_logits(root, c.model, pooled);
  const Tensor loss = cross_entropy(logits, labels);
  // Training data contains no padding examples, so the training program needs no weights, like the
  // original's.
  const Tensor real =
      root.training() ? ones_like(loss) : convert(reduce_max(in["input_mask"], {1}), DType::f32);
  const Tensor weight = root.training()
                            ? full_like(reduce_sum(loss, {0}), static_cast<double>(labels.dim(0)))
                            : reduce_sum(real, {0});
  const Tensor counted = root.training() ? loss : loss * real;
  out.losses.push_back(
      {.name = "next_sentence_loss", .sum = reduce_sum(counted, {0}), .weight = weight});
  out.metrics.push_back({.name = "next_sentence_accuracy",
                         .sum = count_hits(argmax(logits, -1), labels, real),
                         .weight = weight});
}

Objective objective(const BertTask& c, const Scope& root, const Inputs& in,
                    ForwardOutputs* outputs) {
  Objective out;
  if (!c.has_pooler) {
    CHECK(!c.next_sentence);
    add_masked_lm(c, root, in, bert_sequence(root, c.model, encoder_inputs(in, outputs)), out,
                  outputs);
    return out;
  }
  const BertEncoded encoded = bert(root, c.model, encoder_inputs(in, outputs));
  add_masked_lm(c, root, in, encoded.sequence, out, outputs);
  if (c.next_sentence)
    add_next_sentence(c, root, in, encoded.pooled, out);
  else
    // Called only to declare the head's parameters, which are part of the checkpoint.
    next_sentence_logits(root, c.model, encoded.pooled);
  return out;
}

OutputSpec output_spec(const BertConfig& model) {
  return {.scores = Scores::classes,
          .columns = model.vocab_size,
          .of_words = true,
          .vocab_size = model.vocab_size,
          .segments = model.type_vocab_size,
          .positions = model.max_position_embeddings,
          .stacks = encoder_stack(model)};
}

}  // namespace

Task bert_task(const BertTask& c) {
  check_positions("bert", c.model, c.seq_length);
  Task task;
  task.name = "bert";
  task.settings = {{"model", io::config_json(c.model)},
                   {"seq_length", c.seq_length},
                   {"max_predictions", c.max_predictions},
                   {"next_sentence", c.next_sentence}};
  task.described = {{"seq_length", c.seq_length}, {"max_predictions", c.max_predictions}};
  if (c.next_sentence) task.described.emplace_back("next_sentence", true);
  task.record_kind = "bert";
  const Dims answers{c.max_predictions};
  task.features = token_features(c.model, c.seq_length);
  task.features.push_back(masked_positions_feature(c.seq_length, c.max_predictions));
  task.features.push_back(masked_ids_feature(c.model.vocab_size, c.max_predictions));
  task.features.push_back({.name = "masked_lm_weights", .dtype = DType::f32, .row = answers});
  task.features.push_back(
      {.name = "next_sentence_labels", .row = {}, .limit = 2, .limit_name = "labels of"});
  task.tokens = "input_mask";
  task.can_be_packed = true;
  task.row_weights = {"input_mask", "masked_lm_weights"};
  task.dim_names = [model = c.model](std::string_view parameter) {
    return bert_dim_names(model, parameter);
  };
  task.objective = [c](const Scope& root, const Inputs& in) {
    return objective(c, root, in, nullptr);
  };
  task.tells = {.sizes = output_spec(c.model),
                .objective = [c](const Scope& root, const Inputs& in, ForwardOutputs& outputs) {
                  return objective(c, root, in, &outputs);
                }};
  return task;
}

Teacher bert_teacher(const BertConfig& c, FrozenModel model) {
  model.dim_names = [c](std::string_view parameter) { return bert_dim_names(c, parameter); };
  return {.model = std::move(model),
          .sizes = output_spec(c),
          .settings = io::config_json(c),
          .forward = [c](const Scope& root, const Inputs& in, ForwardOutputs& outputs) {
            const Tensor sequence = bert_sequence(root, c, encoder_inputs(in, &outputs));
            outputs.words = masked_lm_head(root, c, sequence, in["masked_lm_positions"]);
          }};
}

Prediction mask_guesses(const Encoder& encoder, std::int64_t S, std::int64_t P, std::int64_t top) {
  Prediction out;
  out.features = token_features(encoder_sizes(encoder), S);
  out.features.push_back(masked_positions_feature(S, P));
  out.outputs = [encoder, top](const Scope& root, const Inputs& in) {
    const Tensor sequence = encoder->sequence(root, encoder_inputs(in));
    const Tensor logits = lm_logits(encoder->word_head(root, sequence, in["masked_lm_positions"]));
    return top_k(softmax(logits), top);
  };
  return out;
}

Prediction word_scores(const Encoder& encoder, std::int64_t S, std::int64_t P) {
  Prediction out;
  out.features = token_features(encoder_sizes(encoder), S);
  out.features.push_back(masked_positions_feature(S, P));
  out.features.push_back(masked_ids_feature(encoder_sizes(encoder).vocab_size, P));
  out.outputs = [encoder](const Scope& root, const Inputs& in) {
    const Tensor ids = in["masked_lm_ids"];
    const Tensor sequence = encoder->sequence(root, encoder_inputs(in));
    const LmHead head = encoder->word_head(root, sequence, in["masked_lm_positions"]);
    const LabelScores found = score_labels(root, head, reshape(ids, {ids.shape().elements()}));
    return std::vector{reshape(-found.loss, ids.dims())};
  };
  return out;
}

Prediction pooled_states(const Encoder& encoder, std::int64_t S) {
  Prediction out;
  out.features = token_features(encoder_sizes(encoder), S);
  out.outputs = [encoder](const Scope& root, const Inputs& in) {
    const Tensor sequence = convert(encoder->sequence(root, encoder_inputs(in)), DType::f32);
    return std::vector{mean_state(sequence, in["input_mask"]), first_state(sequence)};
  };
  return out;
}

Prediction bert_mask_guesses(const BertConfig& model, std::int64_t S, std::int64_t P,
                             std::int64_t top) {
  return mask_guesses(bert_encoder(model), S, P, top);
}

}  // namespace smelt::model
