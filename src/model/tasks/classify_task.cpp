#include "model/tasks/classify_task.h"

#include <cmath>

#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"
#include "model/tasks/class_metrics.h"
#include "model/tasks/metrics.h"
#include "model/tasks/token_features.h"

namespace smelt::model {

using compiler::abs;
using compiler::argmax;
using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::constant;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::logistic;
using compiler::maximum;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::slice;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

constexpr const char* kLabels = "label_ids";
constexpr const char* kRealExample = "is_real_example";
constexpr const char* kStart = "start_positions";
constexpr const char* kEnd = "end_positions";

// Scores and labels of a batch.
struct Scored {
  Tensor logits;   // f32 [B,C]
  Tensor labels;   // as in the label feature of the problem
  Tensor weights;  // f32 [B]
};

void store_scores(ForwardOutputs* outputs, std::vector<Tensor> scores, const Tensor& weights) {
  if (outputs == nullptr) return;
  outputs->scores = std::move(scores);
  outputs->weights = weights;
}

// Returns the training loss and its weight; see classify_task().
Metric training_loss(const ClassifyTask& c, const Scored& s, std::int64_t C) {
  const Tensor label_one_hot = one_hot(s.labels, C, DType::f32);
  std::vector<double> weights = c.class_weights;
  if (weights.empty()) weights.assign(static_cast<std::size_t>(C), 1.0);
  const Tensor of_class =
      broadcast_to(reshape(constant(s.logits.graph(), weights, {DType::f32, {C}}), {1, C}),
                   {s.labels.dim(0), C});
  const Tensor of_row = reduce_sum(label_one_hot * of_class, {1});
  const double e = c.label_smoothing;
  Tensor loss = of_row * cross_entropy(s.logits, s.labels) * (1 - e);
  if (e > 0) {
    const Tensor all =
        reduce_sum(of_class, {1}) * log_sum_exp(s.logits) - reduce_sum(of_class * s.logits, {1});
    loss = loss + all * (e / static_cast<double>(C));
  }
  return {.name = "classification_loss",
          .sum = reduce_sum(loss * s.weights, {0}),
          .weight = reduce_sum(of_row * s.weights, {0})};
}

Metric plain_loss(const Scored& s, const Tensor& weight) {
  return {.name = "classification_loss",
          .sum = reduce_sum(cross_entropy(s.logits, s.labels) * s.weights, {0}),
          .weight = weight};
}

Objective single_label(const ClassifyTask& c, const Scope& root, const Scored& s, std::int64_t C) {
  const Tensor weight = reduce_sum(s.weights, {0});
  const Tensor best = argmax(s.logits, -1);
  const Tensor counts =
      class_counts(one_hot(best, C, DType::f32), one_hot(s.labels, C, DType::f32), s.weights);
  Objective out;
  const bool is_plain = !root.training() || (c.class_weights.empty() && c.label_smoothing == 0);
  out.losses.push_back(is_plain ? plain_loss(s, weight) : training_loss(c, s, C));
  out.metrics.push_back(
      {.name = "accuracy", .sum = count_hits(best, s.labels, s.weights), .weight = weight});
  if (C == 2)
    out.metrics.push_back({.name = "f1", .sum = counts, .weight = weight, .finish = f1_of_last});
  out.metrics.push_back({.name = "macro_f1", .sum = counts, .weight = weight, .finish = macro_f1});
  out.metrics.push_back({.name = "matthews", .sum = counts, .weight = weight, .finish = matthews});
  return out;
}

// Returns the multi-label objective. The loss of a text is the mean over its classes; a text counts
// as accurate if all its classes are correct.
Objective multi_label(const Scored& s, std::int64_t C) {
  const Tensor weight = reduce_sum(s.weights, {0});
  const Tensor labels = convert(s.labels, DType::f32);
  const Tensor predicted =
      convert(compare(s.logits, zeros_like(s.logits), Compare::gt), DType::f32);
  const Tensor loss = mean(sigmoid_cross_entropy(s.logits, labels), {1});
  const Tensor wrong = reduce_sum(abs(predicted - labels), {1});
  const Tensor counts = class_counts(predicted, labels, s.weights);
  Objective out;
  out.losses.push_back({.name = "classification_loss",
                        .sum = reduce_sum(reshape(loss, {s.weights.dim(0)}) * s.weights, {0}),
                        .weight = weight});
  out.metrics.push_back({.name = "accuracy",
                         .sum = count_hits(wrong, zeros_like(wrong), s.weights),
                         .weight = weight});
  out.metrics.push_back({.name = "micro_f1", .sum = counts, .weight = weight, .finish = micro_f1});
  out.metrics.push_back({.name = "macro_f1", .sum = counts, .weight = weight, .finish = macro_f1});
  CHECK(C == s.labels.dim(1), C);
  return out;
}

Objective regression(const Scored& s, double center) {
  const Tensor weight = reduce_sum(s.weights, {0});
  const Tensor predicted = reshape(s.logits, {s.weights.dim(0)});
  Objective out;
  out.losses.push_back({.name = "squared_error",
                        .sum = reduce_sum(square(predicted - s.labels) * s.weights, {0}),
                        .weight = weight});
  out.metrics.push_back({.name = "pearson",
                         .sum = moments(predicted, s.labels, s.weights, center),
                         .weight = weight,
                         .finish = pearson});
  return out;
}

// Returns the objective of a cross-encoder with one logit for each pair of texts.
Objective rerank(const Scored& s) {
  const std::int64_t B = s.weights.dim(0);
  const Tensor weight = reduce_sum(s.weights, {0});
  const Tensor logits = reshape(s.logits, {B});
  const Tensor half = full_like(s.labels, 0.5);
  const Tensor predicted = compare(logits, zeros_like(logits), Compare::gt);
  const Tensor relevant = compare(s.labels, half, Compare::ge);
  Objective out;
  out.losses.push_back({.name = "classification_loss",
                        .sum = reduce_sum(sigmoid_cross_entropy(logits, s.labels) * s.weights, {0}),
                        .weight = weight});
  out.metrics.push_back(
      {.name = "accuracy",
       .sum = count_hits(convert(predicted, DType::s32), convert(relevant, DType::s32), s.weights),
       .weight = weight});
  return out;
}

// Returns the token classification objective. The label feature has the class number plus 1 at the
// first token of each word, and 0 (no label) at all other tokens.
Objective token_labels(const ClassifyTask& c, const Scope& root, const Inputs& in,
                       ForwardOutputs* outputs) {
  const std::int64_t C = c.labels.outputs();
  const Tensor labels = in[kLabels], none = zeros_like(labels);
  const std::int64_t B = labels.dim(0), S = labels.dim(1);
  const Tensor real = broadcast_to(reshape(in[kRealExample], {B, 1}), {B, S});
  const Tensor counts =
      convert(compare(labels, none, Compare::gt), DType::f32) * convert(real, DType::f32);
  const Tensor logits = token_logits(root, c.encoder, encoder_inputs(in, outputs), C, c.dropout);
  const Scored scored{.logits = reshape(logits, {B * S, C}),
                      .labels = reshape(maximum(labels - 1, none), {B * S}),
                      .weights = reshape(counts, {B * S})};
  store_scores(outputs, {scored.logits}, scored.weights);
  return single_label(c, root, scored, C);
}

// Lowers the scores of padding tokens.
Tensor without_padding(const Tensor& scores, const Tensor& mask) {
  constexpr double kPadding = -1e9;
  return scores + (1.0 - convert(mask, DType::f32)) * kPadding;
}

Objective answer_spans(const ClassifyTask& c, const Scope& root, const Inputs& in,
                       ForwardOutputs* outputs) {
  const Tensor logits = answer_logits(root, c.encoder, encoder_inputs(in, outputs));
  const std::int64_t B = logits.dim(0), S = logits.dim(1);
  const Tensor weights = convert(in[kRealExample], DType::f32);
  const Tensor weight = reduce_sum(weights, {0});
  std::vector<Tensor> losses, hits, both;
  for (const auto& [label, at] : {std::pair{kStart, 0}, {kEnd, 1}}) {
    const Tensor scores = without_padding(
        reshape(slice(logits, {0, 0, at}, {B, S, at + 1}), {B, S}), in["input_mask"]);
    both.push_back(scores);
    losses.push_back(cross_entropy(scores, in[label]));
    hits.push_back(convert(compare(argmax(scores, -1), in[label], Compare::eq), DType::f32));
  }
  store_scores(outputs, both, weights);
  Objective out;
  out.losses.push_back({.name = "answer_loss",
                        .sum = reduce_sum((losses[0] + losses[1]) * 0.5 * weights, {0}),
                        .weight = weight});
  out.metrics.push_back({.name = "span_accuracy",
                         .sum = reduce_sum(hits[0] * hits[1] * weights, {0}),
                         .weight = weight});
  return out;
}

Objective objective(const ClassifyTask& c, const Scope& root, const Inputs& in,
                    ForwardOutputs* outputs) {
  if (c.labels.problem == io::Problem::token_labels) return token_labels(c, root, in, outputs);
  if (c.labels.problem == io::Problem::answer_spans) return answer_spans(c, root, in, outputs);
  const std::int64_t C = c.labels.outputs();
  const Scored scored{
      .logits = class_logits(root, c.encoder, encoder_inputs(in, outputs), C, c.dropout),
      .labels = in[kLabels],
      .weights = convert(in[kRealExample], DType::f32)};
  store_scores(outputs, {scored.logits}, scored.weights);
  switch (c.labels.problem) {
    case io::Problem::single_label:
      return single_label(c, root, scored, C);
    case io::Problem::multi_label:
      return multi_label(scored, C);
    case io::Problem::regression:
      return regression(scored, c.label_center);
    case io::Problem::rerank:
      return rerank(scored);
    default:
      throw BugError("classify: unknown problem");
  }
}

OutputSpec output_spec(const ClassifyTask& c) {
  const BertConfig sizes = encoder_sizes(c.encoder);
  const bool spans = c.labels.problem == io::Problem::answer_spans;
  Scores scores = Scores::classes;
  if (c.labels.problem == io::Problem::multi_label) scores = Scores::labels;
  if (io::is_number(c.labels.problem)) scores = Scores::numbers;
  return {.scores = scores,
          .columns = spans ? 1 : c.labels.outputs(),
          .of_words = false,
          .vocab_size = sizes.vocab_size,
          .segments = sizes.type_vocab_size,
          .positions = sizes.max_position_embeddings,
          .stacks = encoder_stack(sizes)};
}

Json required_settings(const io::Labels& labels) {
  return {{"problem", io::field_json(labels.problem)}, {"labels", labels.names}};
}

io::Features label_features(const io::Labels& labels, std::int64_t S) {
  const std::int64_t C = labels.outputs();
  switch (labels.problem) {
    case io::Problem::single_label:
      return {{.name = kLabels, .row = {}, .limit = C, .limit_name = "classes"}};
    case io::Problem::multi_label:
      return {{.name = kLabels, .row = {C}, .limit = 2, .limit_name = "labels of"}};
    case io::Problem::token_labels:
      return {{.name = kLabels, .row = {S}, .limit = C + 1, .limit_name = "classes"}};
    case io::Problem::answer_spans:
      return {{.name = kStart, .row = {}, .limit = S, .limit_name = "seq_length"},
              {.name = kEnd, .row = {}, .limit = S, .limit_name = "seq_length"}};
    default:
      return {{.name = kLabels, .dtype = DType::f32, .row = {}}};
  }
}

Json settings_of_classifier(const ClassifyTask& c) {
  Json out{{"encoder", encoder_name(c.encoder)},
           {"model", encoder_config_json(c.encoder)},
           {"problem", io::field_json(c.labels.problem)},
           {"labels", c.labels.names},
           {"seq_length", c.seq_length},
           {"dropout", c.dropout},
           {"class_weights", c.class_weights},
           {"label_smoothing", c.label_smoothing}};
  if (c.labels.no_answer) out["no_answer"] = true;
  if (c.labels.problem == io::Problem::answer_spans) out["answers"] = io::config_json(c.answers);
  return out;
}

}  // namespace

Task classify_task(const ClassifyTask& c) {
  const BertConfig sizes = encoder_sizes(c.encoder);
  check_positions("classify", sizes, c.seq_length);
  CHECK(c.class_weights.empty() || std::ssize(c.class_weights) == c.labels.outputs());
  Task task;
  task.name = "classify";
  task.settings = settings_of_classifier(c);
  task.described = {{"seq_length", c.seq_length},
                    {"problem", io::field_json(c.labels.problem)},
                    {"labels", c.labels.names}};
  task.record_kind = "classify";
  task.features = token_features(sizes, c.seq_length);
  for (io::Feature& feature : label_features(c.labels, c.seq_length))
    task.features.push_back(std::move(feature));
  task.features.push_back({.name = kRealExample, .row = {}, .limit = 2, .limit_name = "a mask of"});
  task.tokens = "input_mask";
  task.row_weights = {kRealExample};
  // Shorter batches truncate every feature whose row has seq_length elements (with_length()), which
  // would be wrong for the labels of a problem with exactly seq_length classes.
  const bool looks_like_tokens = task.features.at(3).row == Dims{c.seq_length};
  if (c.labels.problem == io::Problem::token_labels || !looks_like_tokens) task.lengths = c.lengths;
  task.dim_names = [encoder = c.encoder](std::string_view parameter) {
    return classifier_dim_names(encoder, parameter);
  };
  task.is_head = is_class_head;
  task.layer_rates = [c](double decay) {
    return layer_rate_rules(c.encoder, decay, !c.labels.of_tokens());
  };
  task.objective = [c](const Scope& root, const Inputs& in) {
    return objective(c, root, in, nullptr);
  };
  task.tells = {.sizes = output_spec(c),
                .objective = [c](const Scope& root, const Inputs& in, ForwardOutputs& outputs) {
                  return objective(c, root, in, &outputs);
                }};
  return task;
}

Teacher classify_teacher(const ClassifyTask& c, FrozenModel model) {
  model.dim_names = classify_task(c).dim_names;
  return {.model = std::move(model),
          .sizes = output_spec(c),
          .settings = encoder_config_json(c.encoder),
          .asked = required_settings(c.labels),
          .forward = [c](const Scope& root, const Inputs& in, ForwardOutputs& outputs) {
            (void)objective(c, root, in, &outputs);
          }};
}

Prediction class_probabilities(const ClassifyTask& c, std::int64_t S) {
  Prediction out;
  out.features = token_features(encoder_sizes(c.encoder), S);
  out.outputs = [c](const Scope& root, const Inputs& in) -> std::vector<Tensor> {
    const std::int64_t C = c.labels.outputs();
    if (c.labels.problem == io::Problem::token_labels)
      return {softmax(token_logits(root, c.encoder, encoder_inputs(in), C, c.dropout))};
    if (c.labels.problem == io::Problem::answer_spans)
      return {answer_logits(root, c.encoder, encoder_inputs(in))};
    const Tensor logits = class_logits(root, c.encoder, encoder_inputs(in), C, c.dropout);
    switch (c.labels.problem) {
      case io::Problem::single_label:
        return {softmax(logits)};
      case io::Problem::multi_label:
      case io::Problem::rerank:
        return {logistic(logits)};
      default:
        return {logits};
    }
  };
  return out;
}

}  // namespace smelt::model
