// Parsing of durations on the command line.
#pragma once

#include <chrono>
#include <string>

namespace smelt {

// Parses "90s", "30m", "6h", "2d", "1d12h" or a number of seconds. Throws UsageError, whose message
// begins with `where`, for other text, for zero and for more than a year.
std::chrono::seconds parse_duration(const std::string& where, const std::string& text);

}  // namespace smelt
