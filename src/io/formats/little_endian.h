// Reads and writes numbers as little-endian bytes on any host. Compilers turn each call into one
// move instruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smelt::io {

template <class Unsigned>
std::array<char, sizeof(Unsigned)> to_little_endian(Unsigned value) {
  std::array<char, sizeof(Unsigned)> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

template <class Unsigned>
void append_little_endian(std::string& out, Unsigned value) {
  const auto bytes = to_little_endian(value);
  out.append(bytes.data(), bytes.size());
}

// Returns the integer in the first bytes. There must be enough bytes.
template <class Unsigned>
Unsigned from_little_endian(std::string_view bytes) {
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
    value |= static_cast<Unsigned>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

}  // namespace smelt::io
