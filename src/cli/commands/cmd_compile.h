// smelt compile: what the TPU compiler makes of a program, without a TPU.
#pragma once

#include <CLI/App.hpp>

namespace smelt {

void add_compile_command(CLI::App& app);

}  // namespace smelt
