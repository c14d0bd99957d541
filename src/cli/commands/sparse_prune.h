// smelt compress prune --sparsity and --nm: sets single weights to 0 (compress/sparsify.h).
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compress/sparsify.h"

namespace smelt::cli {

struct SparseFlags {
  std::string method, nm;
  double sparsity = 0, penalty = 5;
};
// The run in which the model is trained while its weights are pruned.
struct SparseRun {
  std::string folder;                 // empty: none
  std::vector<std::string> settings;  // recipe fields to override in that run
  double penalty = 5;                 // for soft movement pruning
};

void add_sparse_flags(CLI::App& command, SparseFlags& flags);

// Returns nullopt if no flag requests sparsity. Throws UsageError for an unknown method and
// for flags that cannot be combined.
std::optional<compress::SparsifyJob> sparse_job(const SparseFlags& flags, const CLI::App& command,
                                                const std::string& from, const std::string& to);

// Trains if `run` has a folder, then writes the sparse model. Throws UsageError as teach() and
// sparsify_model().
void make_sparse(compress::SparsifyJob job, const SparseRun& run, bool json);

}  // namespace smelt::cli
