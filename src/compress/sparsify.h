// Models most of whose weights are 0: a smaller file, and not a faster model, since every program
// multiplies zeros as it does other numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compress/magnitude.h"

namespace smelt {

struct SparsifyJob {
  std::string from = {}, to = {};
  // One of them: a share of all weights of attention and feed-forward taken together, or of each
  // output's inputs a pattern of neighbours.
  std::optional<double> sparsity = {};
  std::optional<NmPattern> nm = {};
  // What set to 0 what is 0 already of a model that has learned with its zeros, "magnitude" or
  // "movement"; the smallest of the others follow. "soft": its zeros are as they are.
  std::string by = "magnitude";
  bool is_tuned = false;  // it is known that the model has learned so
};

// UsageError for both of a share and a pattern or neither, but softly, and a share that is none.
void check_sparsity(const SparsifyJob& job);

struct Sparsified {
  struct Tensor {
    std::string name;
    std::uint64_t weights = 0, not_zero = 0;
  };
  std::vector<Tensor> tensors;                // of attention and feed-forward, by name
  std::uint64_t weights = 0, not_zero = 0;    // of all of them
  std::uint64_t parameters = 0;               // of the whole model
  std::uint64_t bytes_before = 0, bytes = 0;  // of all files of the folder
};

// Writes `to`, a folder that only smelt reads (docs/reference/formats/compressed.md). The smallest
// weights of attention and feed-forward in every layer become 0 (magnitude.h), in one shot; tables,
// pooler, head and biases stay. UsageError as open_source_folder() and write_compressed_folder()
// have it, for both of a share and a pattern or neither, a share that is none, a matrix whose
// inputs a pattern does not divide, a value that is not finite, and a model without such matrices.
Sparsified sparsify_model(const SparsifyJob& job);

}  // namespace smelt
