// Embeddings of many texts, in batches of similar length.
#pragma once

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
  io::EmbeddingForm form = {};
  std::int64_t most_tokens = 128;  // per text; longer texts must be truncated by the caller
  std::int64_t batch_size = 32;    // texts per batch
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

// An embedding model on one device. Compiles one program for each padded shape.
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
  EmbedJob job_;
  RowModel model_;
};

}  // namespace smelt::execution
