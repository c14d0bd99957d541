#include "io/formats/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstdio>

namespace smelt::io {

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
  constexpr std::size_t kMostAtOnce = std::size_t{1}
                                      << 30;  // because the library's length is an int
  std::uint32_t state = ~seed;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMostAtOnce);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(part.data()));
    state = crc32_iscsi(data, static_cast<int>(part.size()), state);
    bytes.remove_prefix(part.size());
  }
  return ~state;
}

std::string hex_text(std::uint32_t crc) {
  char digits[9];
  std::snprintf(digits, sizeof(digits), "%08x", crc);
  return digits;
}

}  // namespace smelt::io
