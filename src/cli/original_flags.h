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

}  // namespace smelt
