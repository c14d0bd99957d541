// CRC-32C (Castagnoli; RFC 3720 appendix B.4) and the masked form in which TensorFlow's files store
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smelt::io {

// Returns the checksum of `bytes`. With `seed`, continues the checksum of preceding bytes.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

// Returns eight lower-case hexadecimal digits.
std::string hex_text(std::uint32_t crc);

// Returns the masked checksum: rotated right by 15 bits, plus a constant. Checksums are stored
// masked, because a checksum over bytes that contain their own CRC would be weak.
constexpr std::uint32_t mask_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}
constexpr std::uint32_t unmask_crc(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xA282EAD8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace smelt::io
