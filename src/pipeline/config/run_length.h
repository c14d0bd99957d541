// Lengths with units: how long a run, its warm-up and its decay take (train.length,
// train.schedule.warmup, train.schedule.decay).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

enum class LengthUnit { steps, epochs, tokens, seconds, dollars, percent };

struct RunLength {
  double value = 0;
  LengthUnit unit = LengthUnit::steps;
};

// Parses "30000 steps", "2.5 epochs", "3B tokens", "3e9 tokens", "24 hours", "90 min", "$20",
// "20 dollars" or "2 %". Throws UsageError, which begins with `field`, for other text.
RunLength parse_run_length(const std::string& field, const std::string& text);
// Formats a length so that parse_run_length() reads it.
std::string run_length_words(const RunLength& length);

// Resets fields of the recipe's file to their defaults if --set sets another field that excludes
// them, such as train.length and train.epochs. Changes only recipe.sections and recipe.set; call it
// before the sections are parsed.
void prefer_settings(Recipe& recipe);
// Sets train.steps, epochs, tokens, seconds or budget.usd from train.length. Throws UsageError if
// it is not a length, or if it contradicts other fields.
void set_run_length(Recipe& recipe);
// Returns the setting with which a finished run trains for twice as long:
// "train.length='48 hours'". `steps` is the number of steps if train.steps determines it.
std::string doubled_length(const Recipe& recipe, std::int64_t steps);

// Returns settings for a run of the same recipe with a length in epochs: a warm-up or decay in
// hours or dollars becomes a share of the run.
std::vector<std::string> parts_in_shares(const Recipe& recipe);

// Converts train.schedule.warmup and decay to the units of the schedule (train::schedule_length()).
// `epoch` is the number of steps of a pass over the examples; nullopt if it is unknown, which
// leaves a length in epochs unconverted. Throws UsageError if the schedule is longer than the run.
void convert_schedule(Recipe& recipe, std::optional<double> epoch);

}  // namespace smelt::pipeline
