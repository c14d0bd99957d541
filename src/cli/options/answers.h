// What a trained model is asked for on a command line and how its answers are printed, whichever
// command asks.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/text_source.h"
#include "execution/inference/detect.h"
#include "execution/inference/fill_mask.h"
#include "train/bad_batch.h"

namespace smelt {

// What is asked of a model that fills masks, whichever it is.
struct FillOptions {
  TextSource source;
  std::int64_t top = 5;
  bool json = false;
};
using Filler = std::function<std::vector<FilledText>(const std::vector<std::string>& texts)>;
std::shared_ptr<FillOptions> add_fill_options(CLI::App& command);
void print_filled(const FillOptions& options, const Filler& fill);
// Each parameter's gradient of a batch that was not finite.
void print_report(const GradientReport& report);

// What is asked of a model that finds replaced tokens.
struct DetectOptions {
  TextSource source;
  double threshold = 0.5;
  bool json = false;
};
using DetectTexts =
    std::function<std::vector<std::vector<JudgedToken>>(const std::vector<std::string>& texts)>;
std::shared_ptr<DetectOptions> add_detect_options(CLI::App& command);
void print_detected(const DetectOptions& options, const DetectTexts& detect);

// The text with the tokens from `threshold` on between brackets, or red for a terminal.
std::string marked_text(const std::string& text, const std::vector<JudgedToken>& tokens,
                        double threshold, bool colour);

}  // namespace smelt
