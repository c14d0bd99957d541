// Flags of smelt's own that the originals' programs of training have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace smelt {

struct OriginalRunFlags {
  double hang_minutes = 30;
  std::string replay;  // a bad-batch folder; empty: none
};

void add_original_run_flags(CLI::App& command, OriginalRunFlags& flags);

// UsageError for --replay where the command does not train; `how` makes it.
void check_replays(const OriginalRunFlags& flags, bool trains, const std::string& how);

}  // namespace smelt
