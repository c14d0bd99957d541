// smelt plan: shows which TPU types fit a recipe, the run time and the cost.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt::cli {

void add_plan_command(CLI::App& app);

}  // namespace smelt::cli
