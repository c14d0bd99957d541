// smelt detect: which tokens of a text a discriminator holds for replaced.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/detect.h"

namespace smelt {

void add_detect_command(CLI::App& app);

// What is asked and how it is answered, whatever the model.
struct DetectOptions {
  std::vector<std::string> texts;
  double threshold = 0.5;
  bool json = false;
};
std::shared_ptr<DetectOptions> add_detect_options(CLI::App& command);
using Detector =
    std::function<std::vector<std::vector<JudgedToken>>(const std::vector<std::string>& texts)>;
void print_detected(DetectOptions options, const Detector& detector);

// The text with the tokens from `threshold` on between brackets, or red for a terminal.
std::string marked_text(const std::string& text, const std::vector<JudgedToken>& tokens,
                        double threshold, bool colour);

}  // namespace smelt
