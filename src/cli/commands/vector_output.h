// Files of embeddings.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "execution/inference/embedder.h"

namespace smelt::cli {

// Writes texts and their embeddings in order. The file appears at commit().
class VectorOutput {
 public:
  virtual ~VectorOutput() = default;
  virtual void add(std::span<const std::string> texts, const execution::EmbeddingRows& rows) = 0;
  virtual void commit() = 0;
};

// Returns the output for a path: a float32 matrix (.npy), a table with the columns text and
// embedding (.parquet), or objects with these fields (.jsonl, and standard output if the path is
// empty). Throws UsageError for another extension, or if the file exists.
std::unique_ptr<VectorOutput> open_vector_output(const std::string& path);
// Returns the output to a Parquet file.
std::unique_ptr<VectorOutput> open_parquet_output(const std::string& path);

}  // namespace smelt::cli
