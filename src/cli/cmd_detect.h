// smelt detect: which tokens of a text a discriminator holds for replaced.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "train/detect.h"

namespace smelt {

void add_detect_command(CLI::App& app);

// The text with the tokens from `threshold` on between brackets, or red for a terminal.
std::string marked_text(const std::string& text, const std::vector<JudgedToken>& tokens,
                        double threshold, bool colour);

}  // namespace smelt
