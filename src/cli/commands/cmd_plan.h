// smelt plan: which TPU fits a recipe, how long it takes, what it costs.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt {

void add_plan_command(CLI::App& app);

}  // namespace smelt
