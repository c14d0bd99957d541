// smelt predict: a fine-tuned model says what texts are.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt {

void add_predict_command(CLI::App& app);

}  // namespace smelt
