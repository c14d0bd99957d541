// smelt cloud run (a recipe or a command) and smelt cloud watch.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt::cli {

void add_job_commands(CLI::App& cloud);

}  // namespace smelt::cli
