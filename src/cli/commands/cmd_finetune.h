// smelt finetune: runs a recipe with several seeds and settings and prints a table of the results.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt::cli {

void add_finetune_command(CLI::App& app);

}  // namespace smelt::cli
