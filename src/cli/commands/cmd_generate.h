// smelt generate: a trained T5 answers texts.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt {

void add_generate_command(CLI::App& app);

}  // namespace smelt
