#include "model/tasks/embedding_task.h"

#include <algorithm>

#include "base/error.h"
#include "compiler/autodiff/scan.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "io/formats/packing_features.h"
#include "model/nn/layers.h"
#include "model/tasks/class_metrics.h"
#include "model/tasks/embedding_losses.h"
#include "model/tasks/token_features.h"

namespace smelt::model {

using compiler::broadcast_in_dim;
using compiler::constant;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::iota;
using compiler::reduce_sum;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::scan;
using compiler::ScanBody;
using compiler::ScanStep;
using compiler::slice_axis;
using compiler::Tensor;
using compiler::transpose;
using compiler::zeros_like;
namespace {

constexpr const char *kKeys = "text_keys", *kScore = "score", *kReal = "is_real_example";

// Returns f32 [B,H] from hidden states [B,S,H] and a mask [B,S].
Tensor pooled(const io::EmbeddingForm& form, Tensor sequence, Tensor mask) {
  sequence = convert(sequence, DType::f32);
  const Tensor out =
      form.pooling == io::Pooling::cls ? first_state(sequence) : mean_state(sequence, mask);
  return form.normalize ? unit_rows(out) : out;
}

// Returns the embeddings [b,N,H] of texts [b,N,S]. `rows` s32 [b] are the numbers of the examples
// in the whole batch, from which random numbers follow; empty if nothing is drawn.
Tensor embed_texts(const Scope& root, const EmbeddingTask& c, Tensor ids, Tensor mask,
                   Tensor rows) {
  const std::int64_t b = ids.dim(0), N = ids.dim(1), S = ids.dim(2);
  Scope scope = root;
  if (rows) {
    const Tensor texts = iota(root.graph(), {DType::s32, {b, N}}, 1) +
                         broadcast_in_dim(rows, {b, N}, {0}) *
                             constant(root.graph(), static_cast<double>(N), DType::s32);
    scope = root.with_rows(reshape(texts, {b * N}));
  }
  const Tensor flat = reshape(ids, {b * N, S}), flat_mask = reshape(mask, {b * N, S});
  const EncoderInputs in{
      .input_ids = flat, .input_mask = flat_mask, .segment_ids = zeros_like(flat)};
  const Tensor out = pooled(c.form, c.encoder->sequence(scope, in), flat_mask);
  return reshape(out, {b, N, out.dim(1)});
}

// Returns the numbers of the rows in the whole batch; empty without a random source.
Tensor row_numbers(const Scope& root, std::int64_t b) {
  if (!root.training()) return {};
  const RandomSource& random = *root.random_source();
  const Tensor own = iota(root.graph(), {DType::s32, {b}}, 0) *
                     constant(root.graph(), static_cast<double>(random.row_stride), DType::s32);
  return random.first_row ? own + random.first_row : own;
}

// Inverts in_micro_batches() for x [parts, b / parts, N, H].
Tensor joined_rows(Tensor x) {
  const Tensor turned = transpose(x, {1, 0, 2, 3});
  return reshape(turned, {x.dim(0) * x.dim(1), x.dim(2), x.dim(3)});
}

// Returns the embeddings [b,N,H] of the batch. With micro-batches, a loop computes one part at a
// time and stores nothing for the backward pass, which computes each part again.
Tensor batch_embeddings(const Scope& root, const EmbeddingTask& c, const Inputs& in) {
  const Tensor ids = in["input_ids"], mask = in["input_mask"];
  const Tensor rows = row_numbers(root, ids.dim(0));
  const Tensor whole = embed_texts(root, c, ids, mask, rows);  // declares the parameters
  const std::int64_t parts = root.compute().micro_batches;
  if (parts == 1) return whole;
  const auto part_of = [&](ScanBody& body, std::span<const Tensor>) {
    const Scope inner = root.within(body.graph(), root.random_source());
    const Tensor of_part = rows ? body.slice(in_micro_batches(rows, parts)) : Tensor();
    return ScanStep{.carry = {},
                    .outputs = {embed_texts(inner, c, body.slice(in_micro_batches(ids, parts)),
                                            body.slice(in_micro_batches(mask, parts)), of_part)}};
  };
  return joined_rows(scan(root.graph(), parts, {}, RematPolicy::layer, part_of).outputs.front());
}

// Returns text n of x [b,N,…] as [b,…].
Tensor text_of(Tensor x, std::int64_t n) {
  Dims dims = x.dims();
  dims.erase(dims.begin() + 1);
  return reshape(slice_axis(x, 1, n, n + 1), dims);
}

std::string loss_name(EmbeddingLoss loss) {
  switch (loss) {
    case EmbeddingLoss::ranking:
      return "ranking_loss";
    case EmbeddingLoss::cosent:
      return "cosent_loss";
    default:
      return "squared_error";
  }
}

LossSums loss_of(const EmbeddedBatch& batch, const EmbeddingTask& c) {
  if (c.loss == EmbeddingLoss::ranking) return ranking_loss(batch, c);
  return c.loss == EmbeddingLoss::cosent ? cosent_loss(batch, c) : cosine_loss(batch);
}

// Returns the batch with embeddings truncated to D dimensions and divided by their norms, as in
// sentence-transformers' MatryoshkaLoss.
EmbeddedBatch truncated(EmbeddedBatch batch, std::int64_t D) {
  for (Tensor& text : batch.texts) text = unit_rows(slice_axis(text, 1, 0, D));
  return batch;
}

// The center of the sums from which Pearson's correlation of cosines and scores follows.
constexpr double kCenter = 0.5;

Objective embedding_objective(const EmbeddingTask& c, const Scope& root, const Inputs& in) {
  const Tensor embeddings = batch_embeddings(root, c, in);
  EmbeddedBatch batch{.texts = {},
                      .keys = {},
                      .scores = reads_scores(c.loss) ? in[kScore] : Tensor(),
                      .weights = convert(in[kReal], DType::f32),
                      .replicas = root.compute().replicas};
  for (std::int64_t n = 0; n < c.texts; ++n) {
    batch.texts.push_back(text_of(embeddings, n));
    batch.keys.push_back(text_of(in[kKeys], n));
  }
  const Tensor weight = reduce_sum(batch.weights, {0});
  const std::int64_t H = embeddings.dim(2);
  Objective out;
  const auto add = [&](const std::string& name, const LossSums& sums) {
    out.losses.push_back({.name = name, .sum = sums.loss, .weight = weight});
  };
  const LossSums sums = loss_of(c.matryoshka.empty() ? batch : truncated(batch, H), c);
  add(loss_name(c.loss), sums);
  for (const std::int64_t D : c.matryoshka)
    if (D < H) add(str(loss_name(c.loss), "_", D), loss_of(truncated(batch, D), c));
  if (sums.hits) {
    out.metrics.push_back({.name = "in_batch_accuracy", .sum = sums.hits, .weight = weight});
    return out;
  }
  const Tensor cosines = row_similarity(batch.texts[0], batch.texts[1], io::Similarity::cosine);
  out.metrics.push_back({.name = "pearson",
                         .sum = moments(cosines, batch.scores, batch.weights, kCenter),
                         .weight = weight,
                         .finish = pearson});
  return out;
}

Json settings_of_embedding(const EmbeddingTask& c) {
  return {{"encoder", encoder_name(c.encoder)},
          {"model", encoder_config_json(c.encoder)},
          {"embedding", io::config_json(c.form)},
          {"loss", io::field_json(c.loss)},
          {"scale", c.scale},
          {"texts", c.texts},
          {"mask_duplicates", c.mask_duplicates},
          {"matryoshka", c.matryoshka}};
}

io::Features embedding_features(const EmbeddingTask& c) {
  const std::int64_t S = c.form.seq_length, N = c.texts;
  constexpr std::int64_t kAnyKey = std::int64_t{1} << 31;
  io::Features out{{.name = "input_ids",
                    .row = {N, S},
                    .limit = encoder_sizes(c.encoder).vocab_size,
                    .limit_name = "vocab_size"},
                   {.name = "input_mask", .row = {N, S}, .limit = 2, .limit_name = "a mask of"},
                   {.name = "tokens", .row = {S}, .limit = 2, .limit_name = "a mask of"},
                   {.name = kKeys, .row = {N}, .limit = kAnyKey, .limit_name = "keys"}};
  if (reads_scores(c.loss)) out.push_back({.name = kScore, .dtype = DType::f32, .row = {}});
  out.push_back({.name = kReal, .row = {}, .limit = 2, .limit_name = "a mask of"});
  return out;
}

}  // namespace

Task embedding_task(const EmbeddingTask& c) {
  const BertConfig sizes = encoder_sizes(c.encoder);
  check_positions("embedding", sizes, c.form.seq_length);
  for (const std::int64_t D : c.matryoshka)
    if (D < 1 || D > sizes.hidden_size)
      throw UsageError(str("matryoshka: dimension ", D, " must be between 1 and ",
                           sizes.hidden_size, ", the size of the model's embeddings"),
                       "remove it");
  CHECK(c.texts >= 2 && (c.texts == 2 || !reads_scores(c.loss)), c.texts, " texts");
  Task task;
  task.name = "embedding";
  task.settings = settings_of_embedding(c);
  task.described = {{"seq_length", c.form.seq_length}, {"texts", c.texts}};
  task.record_kind = "embedding";
  task.features = embedding_features(c);
  task.tokens = "tokens";
  task.row_weights = {kReal};
  if (c.texts != c.form.seq_length) task.lengths = c.lengths;  // text_keys would look like tokens
  task.splits_batch = true;
  task.dim_names = [encoder = c.encoder](std::string_view parameter) {
    return classifier_dim_names(encoder, parameter);
  };
  task.layer_rates = [c](double decay) { return layer_rate_rules(c.encoder, decay, false); };
  task.objective = [c](const Scope& root, const Inputs& in) {
    return embedding_objective(c, root, in);
  };
  return task;
}

Prediction text_embeddings(const Encoder& encoder, const io::EmbeddingForm& form, std::int64_t S,
                           std::int64_t slots) {
  Prediction out;
  out.features = token_features(encoder_sizes(encoder), S);
  if (slots > 0)
    for (io::Feature& feature : io::packing_features(slots))
      out.features.push_back(std::move(feature));
  out.outputs = [encoder, form](const Scope& root, const Inputs& in) {
    return std::vector{pooled(form, encoder->sequence(root, encoder_inputs(in)), in["input_mask"])};
  };
  return out;
}

}  // namespace smelt::model
