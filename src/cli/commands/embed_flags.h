// Flags shared by the commands that compute embeddings.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cli/commands/model_option.h"

namespace smelt::cli {

// Truncates embeddings to `dimensions` (0: all), and then divides them by their norms if the model
// does so. Throws UsageError, which begins with `where`, if they have fewer dimensions.
execution::EmbeddingRows truncated_embeddings(execution::EmbeddingRows rows,
                                              std::int64_t dimensions,
                                              const execution::TextEmbedder& embedder,
                                              const std::string& where);
// Logs a warning that `count` texts were truncated, unless it is 0.
void warn_of_truncated(std::uint64_t count, const execution::TextEmbedder& embedder,
                       const std::string& command);
// Returns the number of texts to embed at once: many batches, because texts are sorted or packed.
inline std::size_t texts_per_call(std::int64_t batch) {
  return 256 * static_cast<std::size_t>(batch);
}

struct EmbedFlags {
  std::shared_ptr<ModelOption> model;
  std::int64_t batch = 32, max_length = 0, dimensions = 0;
  std::string pooling, normalize;

  // Loads the model. Throws UsageError if it is not an embedding model and --pooling is not given.
  execution::TextEmbedder load() const;
  std::size_t texts_at_once() const { return texts_per_call(batch); }
  // Embeds texts. Truncates embeddings to --dimensions, and then divides them by their norms if the
  // model does so. Throws UsageError if they have fewer dimensions.
  execution::EmbeddingRows embed(execution::TextEmbedder& embedder,
                                 std::span<const std::string> texts) const;
  // Logs a warning if the embedder has truncated texts.
  void warn_of_cut(const execution::TextEmbedder& embedder) const;
};

std::shared_ptr<EmbedFlags> add_embed_flags(CLI::App& command);

}  // namespace smelt::cli
