// Range checks of numeric flags, with short messages.
#pragma once

#include <CLI/CLI.hpp>
#include <limits>
#include <optional>
#include <string>

namespace smelt::cli {

// Returns the number if the whole word is a finite number, else nullopt.
std::optional<double> number_in(const std::string& word);

// Accepts a finite number from `least` to `most`. CLI11 prefixes the error with the flag's name:
// "--devices: 0 is less than 1".
CLI::Validator number_from(double least, double most = std::numeric_limits<double>::infinity());
// Accepts a number that is below `limit` and, if `least` is given, at least `least`, else above 0.
CLI::Validator number_below(double limit, std::optional<double> least = {});

// Accepts an amount of US dollars above 0 and of at most a million; more is a typing error.
CLI::Validator dollars_above_zero();

}  // namespace smelt::cli
