// smelt compile: compiles a training step for a TPU, without a TPU, and reports memory and time.
#pragma once

#include <CLI/App.hpp>

namespace smelt::cli {

void add_compile_command(CLI::App& app);

}  // namespace smelt::cli
