#include "model/tasks/embedding_losses.h"

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::all_gather;
using compiler::broadcast_in_dim;
using compiler::Compare;
using compiler::compare;
using compiler::concatenate;
using compiler::convert;
using compiler::dot_general;
using compiler::DotDims;
using compiler::DType;
using compiler::full_like;
using compiler::reduce_max;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::select;
using compiler::slice_axis;
using compiler::sqrt;
using compiler::Tensor;
using compiler::zeros_like;

namespace {

constexpr double kLowest = -1e30;  // the similarity of a candidate that does not count

// Concatenates the rows of all replicas.
Tensor of_all(Tensor x, std::int64_t replicas) {
  return replicas == 1 ? x : all_gather(x, 0, replicas);
}

// Returns x [n] as the columns of [rows,n].
Tensor as_columns(Tensor x, std::int64_t rows) {
  return broadcast_in_dim(x, {rows, x.dim(0)}, {1});
}
// Returns x [n] as the rows of [n,columns].
Tensor as_rows(Tensor x, std::int64_t columns) {
  return broadcast_in_dim(x, {x.dim(0), columns}, {0});
}

// Returns the scores, with kLowest in place of each score whose `counted` is 0.
Tensor counted_scores(Tensor scores, Tensor counted) {
  return select(compare(counted, zeros_like(counted), Compare::gt), scores,
                full_like(scores, kLowest));
}

// Returns a 1 for each row i and column j with a[i] = b[j], else 0.
Tensor equal_pairs(Tensor a, Tensor b) {
  return convert(compare(as_rows(a, b.dim(0)), as_columns(b, a.dim(0)), Compare::eq), DType::f32);
}

// Returns f32 [b, B (N-1)]: 1 for candidates that count for a row. The columns of text n are the
// rows of the whole batch. With `without_duplicates`, candidates equal to the row's positive and
// the positives of rows with the same anchor do not count, and so neither does the positive itself.
Tensor counted_candidates(const EmbeddedBatch& batch, bool without_duplicates) {
  std::vector<Tensor> blocks;
  const std::int64_t b = batch.weights.dim(0);
  const Tensor real = of_all(batch.weights, batch.replicas);
  for (std::size_t n = 1; n < batch.texts.size(); ++n) {
    const Tensor keys = of_all(batch.keys[n], batch.replicas);
    const Tensor present = convert(compare(keys, zeros_like(keys), Compare::ne), DType::f32);
    Tensor counts = as_columns(present * real, b);
    if (without_duplicates) counts = counts * (1.0 - equal_pairs(batch.keys[1], keys));
    if (without_duplicates && n == 1)
      counts = counts * (1.0 - equal_pairs(batch.keys[0], of_all(batch.keys[0], batch.replicas)));
    blocks.push_back(counts);
  }
  return concatenate(blocks, 1);
}

}  // namespace

Tensor unit_rows(Tensor x) {
  constexpr double kLeastNorm = 1e-12;
  const Tensor squares = reduce_sum(x * x, {1});
  // The square root has no finite gradient at 0.
  const Tensor least = full_like(squares, kLeastNorm * kLeastNorm);
  const Tensor safe = select(compare(squares, least, Compare::gt), squares, least);
  return x / broadcast_in_dim(sqrt(safe), x.dims(), {0});
}

Tensor row_similarity(Tensor a, Tensor b, io::Similarity similarity) {
  if (similarity == io::Similarity::cosine) return reduce_sum(unit_rows(a) * unit_rows(b), {1});
  return reduce_sum(a * b, {1});
}

// The row's own positive is computed apart from the others, so that a program needs not know which
// rows of the whole batch it has.
LossSums ranking_loss(const EmbeddedBatch& batch, const EmbeddingTask& c) {
  std::vector<Tensor> texts;
  for (const Tensor& text : batch.texts)
    texts.push_back(c.form.similarity == io::Similarity::cosine ? unit_rows(text) : text);
  std::vector<Tensor> candidates;
  for (std::size_t n = 1; n < texts.size(); ++n)
    candidates.push_back(of_all(texts[n], batch.replicas));
  const DotDims dims{.batch_a = {}, .batch_b = {}, .contract_a = {1}, .contract_b = {1}};
  const Tensor all = dot_general(texts[0], concatenate(candidates, 0), dims) * c.scale;
  const Tensor own = reduce_sum(texts[0] * texts[1], {1}) * c.scale;
  const Tensor others = counted_scores(all, counted_candidates(batch, true));
  const Tensor column = reshape(own, {own.dim(0), 1});
  // Without masked duplicates the candidates include the row's own positive.
  const Tensor scores = c.mask_duplicates ? concatenate({column, others}, 1)
                                          : counted_scores(all, counted_candidates(batch, false));
  const Tensor hits = convert(compare(own, reduce_max(others, {1}), Compare::ge), DType::f32);
  return {.loss = reduce_sum((log_sum_exp(scores) - own) * batch.weights, {0}),
          .hits = reduce_sum(hits * batch.weights, {0})};
}

LossSums cosent_loss(const EmbeddedBatch& batch, const EmbeddingTask& c) {
  const Tensor own = row_similarity(batch.texts[0], batch.texts[1], io::Similarity::cosine);
  const Tensor cosines = of_all(own * c.scale, batch.replicas);
  const Tensor scores = of_all(batch.scores, batch.replicas);
  const Tensor real = of_all(batch.weights, batch.replicas);
  const std::int64_t B = cosines.dim(0);
  const Tensor ordered =
      convert(compare(as_rows(scores, B), as_columns(scores, B), Compare::lt), DType::f32) *
      as_rows(real, B) * as_columns(real, B);
  const Tensor differences = as_rows(cosines, B) - as_columns(cosines, B);
  const Tensor flat = reshape(counted_scores(differences, ordered), {1, B * B});
  const Tensor zero = zeros_like(slice_axis(flat, 1, 0, 1));
  const Tensor loss = reshape(log_sum_exp(concatenate({zero, flat}, 1)), {});
  return {.loss = loss * reduce_sum(batch.weights, {0}), .hits = {}};
}

LossSums cosine_loss(const EmbeddedBatch& batch) {
  const Tensor own = row_similarity(batch.texts[0], batch.texts[1], io::Similarity::cosine);
  return {.loss = reduce_sum(square(own - batch.scores) * batch.weights, {0}), .hits = {}};
}

}  // namespace smelt::model
