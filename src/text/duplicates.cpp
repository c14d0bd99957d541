#include "text/duplicates.h"

#include <algorithm>

namespace smelt {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// splitmix64's finalizer (Steele et al. 2014)
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

std::uint64_t word_hash(std::string_view word) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (char c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return mix(hash);
}

std::vector<std::uint64_t> word_hashes(std::string_view text) {
  std::vector<std::uint64_t> hashes;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto first =
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_space);
    const auto last = std::find_if(first, text.end(), is_space);
    if (first != last) hashes.push_back(word_hash({first, last}));
    begin = static_cast<std::size_t>(last - text.begin());
  }
  return hashes;
}

std::uint64_t combine(const std::uint64_t* first, std::size_t count) {
  std::uint64_t hash = count;
  for (std::size_t i = 0; i < count; ++i) hash = mix(hash * 0x9E3779B97F4A7C15 + first[i]);
  return hash;
}

// The hashes of all runs of five words; of the whole text when it has fewer.
std::vector<std::uint64_t> shingles(std::string_view text) {
  const std::vector<std::uint64_t> words = word_hashes(text);
  const std::size_t length = std::min(words.size(), NearDuplicates::kShingleWords);
  std::vector<std::uint64_t> hashes;
  for (std::size_t i = 0; i + length <= words.size(); ++i)
    hashes.push_back(combine(words.data() + i, length));
  return hashes;
}

}  // namespace

bool ExactDuplicates::seen(std::string_view text) {
  const std::vector<std::uint64_t> words = word_hashes(text);
  return !hashes_.insert(combine(words.data(), words.size())).second;
}

bool NearDuplicates::seen(std::string_view text) {
  Signature signature;
  signature.fill(~std::uint32_t{0});
  for (const std::uint64_t shingle : shingles(text))
    for (std::size_t i = 0; i < kHashes; ++i) {
      // Multiply-add hashing, each function with its own odd factor.
      const std::uint64_t factor = 0x9E3779B97F4A7C15 * (2 * i + 1);
      signature[i] =
          std::min(signature[i], static_cast<std::uint32_t>(((shingle + i) * factor) >> 32));
    }
  const auto similar = [&](const Signature& other) {
    std::size_t equal = 0;
    for (std::size_t i = 0; i < kHashes; ++i) equal += signature[i] == other[i] ? 1 : 0;
    return static_cast<double>(equal) >= kSimilar * kHashes;
  };
  constexpr std::size_t kRows = kHashes / kBands;
  std::array<std::uint64_t, kBands> keys;
  for (std::size_t band = 0; band < kBands; ++band) {
    std::uint64_t key = band;
    for (std::size_t row = 0; row < kRows; ++row)
      key = mix(key ^ signature[band * kRows + row]) + band;
    keys[band] = key;
    const auto found = bands_[band].find(key);
    if (found != bands_[band].end() && similar(signatures_[found->second])) return true;
  }
  const auto number = static_cast<std::uint32_t>(signatures_.size());
  signatures_.push_back(signature);
  for (std::size_t band = 0; band < kBands; ++band) bands_[band].try_emplace(keys[band], number);
  return false;
}

}  // namespace smelt
