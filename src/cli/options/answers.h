// Flags and output of the inference commands for masked tokens and replaced tokens.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/options/text_source.h"
#include "execution/inference/detect.h"
#include "execution/inference/fill_mask.h"
#include "execution/inference/generate.h"
#include "train/bad_batch.h"

namespace smelt::cli {

// Flags of commands that fill [MASK] tokens.
struct FillOptions {
  TextSource source;
  std::int64_t top = 5;
  bool json = false;
};
using Filler =
    std::function<std::vector<execution::FilledText>(const std::vector<std::string>& texts)>;
std::shared_ptr<FillOptions> add_fill_options(CLI::App& command);
void print_filled(const FillOptions& options, const Filler& fill);
// Returns a list of {"token", "probability"} for each [MASK].
OrderedJson masks_json(const execution::FilledText& text);
// Returns {"text", "score", "tokens"} for each generated answer.
OrderedJson answers_json(const std::vector<execution::Answer>& answers);
// Prints the loss, the gradient norms by parameter and the first value that is not finite.
void print_report(const train::GradientReport& report);

// Flags of commands that detect replaced tokens.
struct DetectOptions {
  TextSource source;
  double threshold = 0.5;
  bool json = false;
};
using DetectTexts = std::function<std::vector<std::vector<execution::JudgedToken>>(
    const std::vector<std::string>& texts)>;
std::shared_ptr<DetectOptions> add_detect_options(CLI::App& command);
void print_detected(const DetectOptions& options, const DetectTexts& detect);

// Returns the text with each token whose probability is at least `threshold` in brackets, or in red
// if `colour` is set.
std::string marked_text(const std::string& text, const std::vector<execution::JudgedToken>& tokens,
                        double threshold, bool colour);

}  // namespace smelt::cli
