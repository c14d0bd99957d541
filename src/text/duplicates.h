// Documents and lines that stood before.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace smelt {

// By the 64-bit hash of the words, whose ASCII capitals and white space do not count. About 16
// bytes a text kept.
class ExactDuplicates {
 public:
  // Whether such a text was seen before; from now on it was.
  bool seen(std::string_view text);

 private:
  std::unordered_set<std::uint64_t> hashes_;
};

// By MinHash with banding (Broder 1997; Leskovec et al. 2014, "Mining of Massive Datasets", chapter
// 3): texts of which about 80 % or more of all runs of five words are common to both. About a
// kilobyte a text kept.
class NearDuplicates {
 public:
  bool seen(std::string_view text);

  static constexpr std::size_t kShingleWords = 5, kHashes = 64, kBands = 16;
  static constexpr double kSimilar = 0.8;

 private:
  using Signature = std::array<std::uint32_t, kHashes>;

  std::vector<Signature> signatures_;
  std::array<std::unordered_map<std::uint64_t, std::uint32_t>, kBands>
      bands_;  // to the first with these hashes
};

}  // namespace smelt
