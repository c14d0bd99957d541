// smelt finetune: several runs of a recipe, by seeds and settings, and one table of them.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt {

void add_finetune_command(CLI::App& app);

}  // namespace smelt
