// Losses over the embeddings of a batch.
//   b rows of this program   B rows of all replicas   D dimension
#pragma once

#include <cstdint>
#include <vector>

#include "io/formats/embedding_form.h"
#include "model/tasks/embedding_task.h"

namespace smelt::model {

// Embeddings of a batch and what the losses need besides.
struct EmbeddedBatch {
  std::vector<compiler::Tensor> texts;  // f32 [b,D] each: anchors, positives, negatives
  // s32 [b] each: equal for equal texts, 0 if the row does not have the text.
  std::vector<compiler::Tensor> keys;
  compiler::Tensor scores = {};  // f32 [b]; empty for the ranking loss
  compiler::Tensor weights;      // f32 [b]: 0 for padding examples
  std::int64_t replicas = 1;     // number of programs that share the batch
};

// Divides the rows of x [b,D] by their Euclidean norm, which is taken as at least 1e-12
// (torch.nn.functional.normalize).
compiler::Tensor unit_rows(compiler::Tensor x);

// Returns the similarity of rows i of a and b, both [b,D]: [b].
compiler::Tensor row_similarity(compiler::Tensor a, compiler::Tensor b, io::Similarity similarity);

// The sums of a loss over the rows of this program, and a metric.
struct LossSums {
  compiler::Tensor loss;  // f32 scalar
  compiler::Tensor hits;  // ranking: number of rows whose positive is the most similar candidate
};

// Returns the sum over rows of -log softmax(scale * similarity)[positive].
LossSums ranking_loss(const EmbeddedBatch& batch, const EmbeddingTask& config);
// Returns log(1 + sum over pairs of rows with score_i < score_j of
// exp(scale * (cos_i - cos_j))), times the number of rows of this program. See
// https://kexue.fm/archives/8847.
LossSums cosent_loss(const EmbeddedBatch& batch, const EmbeddingTask& config);
// Returns the sum over rows of (cos - score)^2.
LossSums cosine_loss(const EmbeddedBatch& batch);

}  // namespace smelt::model
