// smelt compress prune --sparsity and --nm: single weights become 0 (compress/sparsify.h).
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compress/sparsify.h"

namespace smelt {

struct SparseFlags {
  std::string method, nm;
  double sparsity = 0, penalty = 5;
};
// A run that the model first learns in, with its zeros.
struct SparseRun {
  std::string folder;                 // empty: none
  std::vector<std::string> settings;  // of its recipe
  double penalty = 5;                 // softly
};

void add_sparse_flags(CLI::App& command, SparseFlags& flags);

// Nothing where the command cuts. UsageError for a method that there is not, and for flags that
// have no meaning together.
std::optional<SparsifyJob> sparse_job(const SparseFlags& flags, const CLI::App& command,
                                      const std::string& from, const std::string& to);

// UsageError as teach() and sparsify_model() have it.
void make_sparse(SparsifyJob job, const SparseRun& run, bool json);

}  // namespace smelt
