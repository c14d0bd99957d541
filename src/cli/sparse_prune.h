// smelt compress prune --sparsity and --nm: single weights become 0 (compress/sparsify.h).
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "compress/sparsify.h"

namespace smelt {

struct SparseFlags {
  std::string method, nm;
  double sparsity = 0;
};

void add_sparse_flags(CLI::App& command, SparseFlags& flags);

// Nothing where the command cuts. UsageError for a method that there is not, and for flags that
// have no meaning together.
std::optional<SparsifyJob> sparse_job(const SparseFlags& flags, const CLI::App& command,
                                      const std::string& from, const std::string& to);

void make_sparse(const SparsifyJob& job, bool json);

}  // namespace smelt
