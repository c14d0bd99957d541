// Files of flags, as absl's programs read them.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

// Returns the arguments with each --flagfile=PATH (or --flagfile PATH) replaced by the flags in
// that file: one flag per line; empty lines and lines that start with # or // are skipped. A file
// may include others; a file that includes itself is skipped. Throws UsageError if --flagfile has
// no path or the file does not exist.
std::vector<std::string> with_flag_files(const std::vector<std::string>& arguments);

}  // namespace smelt::cli
