// Lengths of time as commands take them.
#pragma once

#include <chrono>
#include <string>

namespace smelt {

// "90s", "30m", "6h", "2d", "1d12h", or a number of seconds. UsageError beginning with `where` for
// what is none, and for no time at all and more than a year.
std::chrono::seconds parse_duration(const std::string& where, const std::string& text);

}  // namespace smelt
