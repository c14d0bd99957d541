// Files of flags, as absl's programs read them.
#pragma once

#include <string>
#include <vector>

namespace smelt {

// The arguments with the lines of --flagfile=PATH (or --flagfile PATH) in its place: a flag a line,
// without empty lines and those that begin with # or //. A file may name others; one that is being
// read already is left out. UsageError for a file that is not there, or a --flagfile without one.
std::vector<std::string> with_flag_files(const std::vector<std::string>& arguments);

}  // namespace smelt
