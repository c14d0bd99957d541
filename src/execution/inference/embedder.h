// Embeddings of many texts, in batches of similar length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "execution/inference/row_model.h"
#include "io/formats/embedding_form.h"

namespace smelt {
class Watchdog;
}  // namespace smelt

namespace smelt::execution {

struct EmbedJob {
  // Returns the prediction for texts of S tokens: f32 [B,H] (model/tasks/embedding_task.h).
  std::function<model::Prediction(std::int64_t S)> embeddings;
  // Returns the prediction for packed batches with this many slots per text (model/nn/packing.h).
  std::function<model::Prediction(std::int64_t S, std::int64_t slots)> packed_embeddings = {};
  io::EmbeddingForm form = {};
  std::int64_t width = 0;          // H
  std::int64_t most_tokens = 128;  // per text; longer texts must be truncated by the caller
  std::int64_t batch_size = 32;    // texts per batch, or rows of a packed batch
  bool exact_products = false;     // HloForm::exact_products
};

// A matrix of embeddings, one row per text.
struct EmbeddingRows {
  std::size_t width = 0;
  std::vector<float> values = {};  // [texts, width]

  std::size_t size() const { return width == 0 ? 0 : values.size() / width; }
  std::span<const float> row(std::size_t i) const {
    return std::span(values).subspan(i * width, width);
  }
};

// Divides each row by its Euclidean norm, which is taken as at least 1e-12.
void divide_by_norms(EmbeddingRows& rows);

// An embedding model on one device. On CPUs, texts of at most 64 tokens are packed if they fill
// more than half of a batch: a row holds several texts, so that almost no time is spent on padding,
// and all packed batches have the same shape. Other texts are padded, and a program is compiled for
// each padded shape.
class Embedder {
 public:
  Embedder(std::shared_ptr<const pjrt::Client> client, EmbedJob job, HostWeights weights = {});

  // Uses other weights from now on. take({}) frees the device's memory.
  void take(HostWeights weights) { model_.take(std::move(weights)); }
  // Returns the embeddings of tokenized texts, in their order. The watchdog, if any, watches each
  // batch. Throws Stopped if a StopSignal is raised.
  EmbeddingRows embed(std::span<const std::vector<std::int32_t>> texts,
                      Watchdog* watchdog = nullptr);
  const EmbedJob& job() const { return job_; }

 private:
  // A batch that the device computes, and the numbers of its texts.
  struct Started {
    pjrt::Execution execution;
    std::vector<std::size_t> texts;
  };
  using Texts = std::span<const std::vector<std::int32_t>>;
  // Returns whether these texts fill more than half of a packed batch.
  bool fill_packed_batch(Texts texts, std::span<const std::size_t> numbers) const;
  // Embeds texts in packed batches, and the last ones in padded batches if they do not
  // fill_packed_batch().
  void embed_packed(Texts texts, std::vector<std::size_t> numbers, EmbeddingRows& out,
                    Watchdog* watchdog);
  void embed_padded(Texts texts, std::vector<std::size_t> numbers, EmbeddingRows& out,
                    Watchdog* watchdog);
  // Waits for the embeddings of a batch and stores them in `out`.
  void finish(const Started& batch, EmbeddingRows& out) const;

  EmbedJob job_;
  bool packs_;
  RowModel model_;
};

}  // namespace smelt::execution
