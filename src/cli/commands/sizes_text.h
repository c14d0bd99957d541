// Formats the size of a folder before and after compression.
#pragma once

#include <cstdint>
#include <string>

#include "base/number_format.h"
#include "base/str.h"

namespace smelt::cli {

// Returns the sizes and their ratio: "53.9 to 13.9 MB (0.258 of it)".
inline std::string sizes_text(std::uint64_t before, std::uint64_t after) {
  const auto megabytes = [](std::uint64_t bytes) {
    return rounded(static_cast<double>(bytes) / 1e6, 2);
  };
  return str(megabytes(before), " to ", megabytes(after), " MB (", rounded(share(after, before), 3),
             " of it)");
}

}  // namespace smelt::cli
