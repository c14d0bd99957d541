// Range checks of numeric flags, with short messages.
#pragma once

#include <CLI/CLI.hpp>
#include <limits>
#include <optional>
#include <string>

namespace smelt {

// Returns the number if the whole word is a finite number, else nullopt.
std::optional<double> number_in(const std::string& word);

// A finite number from `least` to `most`. What is none is said by CLI11 after the flag's name:
// "--devices: 0 is less than 1".
CLI::Validator number_from(double least, double most = std::numeric_limits<double>::infinity());
// One below `limit` and above 0, or from `least` on if that is given.
CLI::Validator number_below(double limit, std::optional<double> least = {});

// An amount of US dollars above 0 and of at most a million; more is a typing error.
CLI::Validator dollars_above_zero();

}  // namespace smelt
