// SHA-256 (FIPS 180-4), to compare files with recorded hashes.
#pragma once

#include <string>
#include <string_view>

namespace smelt {

// Returns 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace smelt
