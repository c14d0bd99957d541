#include "support/sha256.h"

// Hashing is optimized even in test builds, because tests hash hundreds of megabytes.
#pragma GCC optimize("O2")

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace smelt {
namespace {

using Words = std::vector<std::uint32_t>;

// The first 32 bits of the fractional parts of roots of the first primes (FIPS 180-4, 4.2.2 and
// 5.3.3).
Words root_fractions(std::size_t count, long double exponent) {
  Words words;
  for (std::uint32_t n = 2; words.size() < count; ++n) {
    bool prime = true;
    for (std::uint32_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    if (!prime) continue;
    const long double root = std::pow(static_cast<long double>(n), exponent);
    words.push_back(static_cast<std::uint32_t>((root - std::floor(root)) * 4294967296.0L));
  }
  return words;
}

std::string padded(std::string_view bytes) {
  std::string out(bytes);
  out.push_back('\x80');
  while (out.size() % 64 != 56) out.push_back('\0');
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(bits >> shift));
  return out;
}

void add_block(std::string_view block, const Words& constants, Words& hash) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 64; ++i)
    w[i / 4 % 16] = w[i / 4 % 16] << 8 | static_cast<unsigned char>(block[i]);
  for (std::size_t i = 16; i < 64; ++i) {
    const auto s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const auto s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  std::array<std::uint32_t, 8> v;
  std::ranges::copy(hash, v.begin());
  for (std::size_t i = 0; i < 64; ++i) {
    const auto s1 = std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25);
    const auto s0 = std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22);
    const auto t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + w[i];
    const auto t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    v = {t1 + t2, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) hash[i] += v[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  const Words constants = root_fractions(64, 1.0L / 3);
  Words hash = root_fractions(8, 0.5L);
  const std::string message = padded(bytes);
  for (std::size_t at = 0; at < message.size(); at += 64)
    add_block(std::string_view(message).substr(at, 64), constants, hash);
  std::string digits;
  for (const std::uint32_t word : hash) {
    char text[9];
    std::snprintf(text, sizeof text, "%08x", word);
    digits += text;
  }
  return digits;
}

}  // namespace smelt
