// smelt new and smelt advise: write a first recipe.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt::cli {

void add_new_command(CLI::App& app);
void add_advise_command(CLI::App& app);

}  // namespace smelt::cli
