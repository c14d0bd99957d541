#include "model/tasks/jestimator_bert_task.h"

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/models/encoder.h"
#include "model/nn/layers.h"
#include "model/nn/random.h"
#include "model/tasks/token_features.h"

namespace smelt::model {

using compiler::bitwise_and;
using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::convert;
using compiler::DType;
using compiler::full_like;
using compiler::KeepDims;
using compiler::ones_like;
using compiler::reduce_max;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::select;
using compiler::Tensor;
using compiler::top_k;
using compiler::zeros_like;
namespace {

void check_settings(const JestimatorBertTask& c) {
  check_jestimator_bert_config(c.model, [](const std::string&) { return "jestimator_bert"; });
  const auto [id, rate] = c.settings;
  if (id < 0)
    throw UsageError(
        "jestimator_bert: mask_token_id is missing",
        "set it to the id of the vocabulary's mask token, 4 in the original's tutorial");
  if (id >= c.model.vocab_size)
    throw UsageError(str("jestimator_bert: mask_token_id ", id, " must be below vocab_size ",
                         c.model.vocab_size),
                     "set vocab_size to the number of tokens of the vocabulary of the data");
  if (!(rate > 0 && rate < 1))
    throw UsageError(str("jestimator_bert: mask_rate is ", rate, ", must be between 0 and 1"),
                     "0.15 is usual");
}

Tensor flattened(Tensor x) { return reshape(x, {x.shape().elements()}); }

Tensor draw_masked(const Scope& root, const JestimatorBertTask& c, Tensor targets) {
  const Tensor drawn = uniform(root / "masking", targets.dims());
  const Tensor masked = compare(drawn, full_like(drawn, c.settings.mask_rate), Compare::lt);
  if (root.training()) return masked;
  // A padding example contains only zeros.
  const Tensor largest = broadcast_to(reduce_max(targets, {1}, KeepDims::yes), targets.dims());
  return bitwise_and(masked, compare(largest, zeros_like(largest), Compare::gt));
}

// Label scores of all tokens, and the weight of each token: 1 if it is masked, otherwise 0.
struct MaskedScores {
  LabelScores found;
  Tensor counted;  // f32 [B*S]
};

MaskedScores masked_scores(const Scope& root, const JestimatorBertTask& c, Tensor targets,
                           Tensor masked) {
  const auto rows = targets.shape().elements();
  const Tensor mask_token = full_like(targets, static_cast<double>(c.settings.mask_token_id));
  const Tensor sequence = jestimator_bert(root, c.model, select(masked, mask_token, targets));
  const LmHead head =
      jestimator_word_head(root, c.model, reshape(sequence, {rows, c.model.hidden_size}));
  return {score_labels(root, head, flattened(targets)), flattened(convert(masked, DType::f32))};
}

io::Features jestimator_features(const JestimatorBertConfig& model) {
  return {{.name = "targets",
           .row = {model.max_length},
           .limit = model.vocab_size,
           .limit_name = "vocab_size"}};
}

}  // namespace

Objective jestimator_objective(const Scope& root, const JestimatorBertTask& c, Tensor targets,
                               Tensor masked) {
  const MaskedScores scores = masked_scores(root, c, targets, masked);
  const Tensor weight = reduce_sum(scores.counted, {0});
  const auto over_masked = [&](const char* name, Tensor of_rows) {
    return Metric{.name = name, .sum = reduce_sum(of_rows * scores.counted, {0}), .weight = weight};
  };
  Objective out;
  out.losses.push_back(over_masked("masked_lm_loss", scores.found.loss));
  out.losses[0].norm = Norm::root;
  if (root.training()) return out;
  const Tensor rank = scores.found.rank, first = compare(rank, ones_like(rank), Compare::eq);
  out.metrics = {over_masked("mrr", 1.0 / rank),
                 over_masked("masked_lm_accuracy", convert(first, DType::f32))};
  return out;
}

Task jestimator_bert_task(const JestimatorBertTask& c) {
  check_settings(c);
  Task task;
  task.name = "jestimator_bert";
  task.settings = {{"model", io::config_json(c.model)}, {"objective", io::config_json(c.settings)}};
  task.described = {{"seq_length", c.model.max_length}};
  task.features = jestimator_features(c.model);
  task.tokens = "targets";
  task.row_weights = {"targets"};
  task.draws = true;
  task.dim_names = [model = c.model](std::string_view parameter) {
    return jestimator_bert_dim_names(model, parameter);
  };
  task.objective = [c](const Scope& root, const Inputs& in) {
    const Tensor targets = in["targets"];
    return jestimator_objective(root, c, targets, draw_masked(root, c, targets));
  };
  return task;
}

Prediction jestimator_scores(const JestimatorBertTask& c, std::int64_t draws) {
  check_settings(c);
  Prediction out{.features = jestimator_features(c.model), .outputs = {}, .draws = draws};
  out.outputs = [c](const Scope& root, const Inputs& in) {
    const Tensor targets = in["targets"];
    const MaskedScores scores = masked_scores(root, c, targets, draw_masked(root, c, targets));
    const auto of_examples = [&](Tensor of_tokens) {
      return reduce_sum(reshape(of_tokens * scores.counted, targets.dims()), {1});
    };
    return std::vector{of_examples(scores.found.loss), of_examples(1.0 / scores.found.rank),
                       of_examples(ones_like(scores.counted))};
  };
  return out;
}

Prediction jestimator_mask_guesses(const JestimatorBertConfig& model, std::int64_t S,
                                   std::int64_t P, std::int64_t top) {
  Prediction out;
  BertConfig tokens;
  tokens.vocab_size = model.vocab_size;
  out.features = token_features(tokens, S);
  out.features.push_back(masked_positions_feature(S, P));
  out.outputs = [model, top](const Scope& root, const Inputs& in) {
    const EncoderInputs text = encoder_inputs(in);
    const Tensor positions = in["masked_lm_positions"];
    const Tensor rows =
        gather_positions(jestimator_bert(root, model, text.input_ids, text.input_mask), positions);
    const Tensor flat_rows = reshape(rows, {positions.shape().elements(), model.hidden_size});
    return top_k(softmax(lm_logits(jestimator_word_head(root, model, flat_rows))), top);
  };
  return out;
}

}  // namespace smelt::model
