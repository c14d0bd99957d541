// Fine-tuning a pretrained encoder so that texts of similar meaning have similar embeddings
// (Reimers & Gurevych 2019). Losses and pooling are those of sentence-transformers.
//   B examples   N texts per example   S sequence   H hidden
#pragma once

#include <cstdint>
#include <vector>

#include "io/formats/embedding_form.h"
#include "model/models/classifier.h"
#include "model/tasks/task.h"

namespace smelt::model {

enum class EmbeddingLoss {
  ranking,  // MultipleNegativesRankingLoss: pairs, or a pair and its negatives
  cosent,   // CoSENTLoss: pairs with a score
  cosine,   // CosineSimilarityLoss: pairs with a score
};
inline constexpr NamedValues<EmbeddingLoss, 3> kEmbeddingLosses{
    {{"ranking", EmbeddingLoss::ranking},
     {"cosent", EmbeddingLoss::cosent},
     {"cosine", EmbeddingLoss::cosine}}};
constexpr const NamedValues<EmbeddingLoss, 3>& words_of(EmbeddingLoss) { return kEmbeddingLosses; }

// Returns whether the loss reads a score for each pair of texts.
constexpr bool reads_scores(EmbeddingLoss loss) { return loss != EmbeddingLoss::ranking; }

// Settings of an embedding model in training.
struct EmbeddingTask {
  Encoder encoder = {};
  io::EmbeddingForm form = {};  // its seq_length is S
  EmbeddingLoss loss = EmbeddingLoss::ranking;
  double scale = 20;       // factor of similarities in the ranking and CoSENT losses
  std::int64_t texts = 2;  // N: anchor, positive and negatives
  // For the ranking loss: ignore candidates that are the same text as the positive, and those of
  // rows with the same anchor.
  bool mask_duplicates = true;
  // Dimensions to which embeddings are also truncated in the loss (Kusupati et al. 2022), besides
  // all H; empty: none.
  std::vector<std::int64_t> matryoshka = {};
  std::vector<std::int64_t> lengths = {};  // see Task::lengths
};

// Returns the task. Features: input_ids, input_mask [N,S]; tokens [S], nonzero up to the length of
// the longest text; text_keys [N], equal for equal texts and 0 for a negative that the row lacks;
// score (f32, for losses that read one); is_real_example.
//
// Candidates of the ranking loss are the positives and negatives of all rows of the batch, on all
// devices. With micro-batches the encoder runs on one micro-batch at a time, forwards and again
// backwards, and the loss still spans the whole batch (GradCache, Gao et al. 2021).
//
// Losses and metrics, over rows with is_real_example 1:
//   ranking  ranking_loss; in_batch_accuracy: rows whose positive has the highest similarity
//   cosent   cosent_loss; pearson
//   cosine   squared_error; pearson
// and for each truncated dimension D a loss such as ranking_loss_D, all with weight 1.
// Throws UsageError if seq_length exceeds the model's maximum or a dimension exceeds H.
Task embedding_task(const EmbeddingTask& config);

// Returns the embeddings f32 [B,H] of texts of S tokens, from input_ids, input_mask and
// segment_ids [S]. With `slots` above 0, the batch is packed and also has the features of
// io::packing_features(slots).
Prediction text_embeddings(const Encoder& encoder, const io::EmbeddingForm& form, std::int64_t S,
                           std::int64_t slots = 0);

}  // namespace smelt::model
