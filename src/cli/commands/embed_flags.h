// Flags shared by the commands that compute embeddings.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "cli/commands/model_option.h"

namespace smelt::cli {

struct EmbedFlags {
  std::shared_ptr<ModelOption> model;
  std::int64_t batch = 32, max_length = 0, dimensions = 0;
  std::string pooling, normalize;

  // Loads the model. Throws UsageError if it is not an embedding model and --pooling is not given.
  execution::TextEmbedder load() const;
  // Truncates embeddings to --dimensions, and divides them by their norms if the model does so.
  // Throws UsageError if they have fewer dimensions.
  void truncate(execution::EmbeddingRows& rows, bool normalize) const;
};

std::shared_ptr<EmbedFlags> add_embed_flags(CLI::App& command);

}  // namespace smelt::cli
