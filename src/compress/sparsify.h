// Unstructured sparsity: sets most weights to 0. This makes the file smaller but not the model
// faster, since programs multiply zeros like other values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compress/magnitude.h"

namespace smelt::compress {

// The settings of sparsification.
struct SparsifyJob {
  std::string from = {}, to = {};
  // Either the share of zeros over all attention and feed-forward weights together, or an N:M
  // pattern along the inputs of each output.
  std::optional<double> sparsity = {};
  std::optional<model::NmPattern> nm = {};
  // How training chose the weights that are 0: "magnitude" or "movement". If they are fewer than
  // `sparsity` or `nm` requires, the smallest other weights are also set to 0. "soft": existing
  // zeros stay, and no other weight is set to 0.
  std::string by = "magnitude";
  bool is_tuned = false;  // the model was trained with its zeros
};

// Throws UsageError unless exactly one of job.sparsity and job.nm is set, or if the sparsity is
// invalid. Checks nothing if job.by is "soft", which uses neither.
void check_sparsity(const SparsifyJob& job);

// The outcome of sparsification.
struct Sparsified {
  struct Tensor {
    std::string name;
    std::uint64_t weights = 0, not_zero = 0;
  };
  std::vector<Tensor> tensors;                // of attention and feed-forward, by name
  std::uint64_t weights = 0, not_zero = 0;    // totals over `tensors`
  std::uint64_t parameters = 0;               // of the whole model
  std::uint64_t bytes_before = 0, bytes = 0;  // of all files of the folder
};

// Sets the smallest weights of attention and feed-forward in every layer to 0 in one step
// (magnitude.h) and writes `to`, a folder that only smelt reads
// (docs/reference/formats/compressed.md). Embedding tables, pooler, head and biases are unchanged.
// Throws UsageError in the same cases as open_source_folder(), write_compressed_folder() and
// check_sparsity(), if a pattern does not divide the inputs of a matrix, if a value is not finite,
// and for a model without such matrices.
Sparsified sparsify_model(const SparsifyJob& job);

}  // namespace smelt::compress
