// Detects repeated documents and lines with bounded memory. If the texts do not fit, the oldest
// ones are forgotten. The result depends only on the texts, their order and the memory limit.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace smelt::text {

constexpr std::size_t kDuplicatesBytes = std::size_t{512} << 20;

// A set of at most `texts` recent texts, in two generations of half the size. When the newer
// generation is full, the older one is dropped. Each text is compared with at least the last
// `texts` / 2 that were added.
template <class Texts>
class Generations {
 public:
  explicit Generations(std::size_t texts) : half_(texts < 2 ? 1 : texts / 2) {}

  // Returns whether the text was seen before, and adds it if not.
  bool seen(const typename Texts::Key& key) {
    if (older_.holds(key) || newer_.holds(key)) return true;
    if (newer_.size() == half_) {
      forgot_ = forgot_ || older_.size() > 0;
      older_ = std::exchange(newer_, Texts());
    }
    newer_.add(key);
    return false;
  }
  bool forgot() const { return forgot_; }
  std::size_t reach() const { return half_; }

 private:
  std::size_t half_;
  Texts older_, newer_;
  bool forgot_ = false;
};

// Finds exact duplicates by a 64-bit hash of the words. Case of ASCII letters and white space are
// ignored.
class ExactDuplicates {
 public:
  static constexpr std::size_t kBytesOfText = 40;  // memory per stored text

  explicit ExactDuplicates(std::size_t bytes = kDuplicatesBytes) : texts_(bytes / kBytesOfText) {}
  bool seen(std::string_view text);
  // Returns whether texts were forgotten.
  bool forgot() const { return texts_.forgot(); }
  std::size_t reach() const { return texts_.reach(); }

 private:
  struct Hashes {
    using Key = std::uint64_t;
    bool holds(Key hash) const { return hashes.contains(hash); }
    void add(Key hash) { hashes.insert(hash); }
    std::size_t size() const { return hashes.size(); }
    std::unordered_set<std::uint64_t> hashes;
  };
  Generations<Hashes> texts_;
};

// Finds near duplicates by MinHash with banding (Broder 1997; Leskovec et al. 2014, "Mining of
// Massive Datasets", chapter 3): texts that share about 80 % or more of their five-word shingles.
// In scripts without spaces between words, such as Han, kana and Thai, each character is a word.
// Texts of fewer than five words are compared by five-character shingles.
class NearDuplicates {
 public:
  static constexpr std::size_t kBytesOfText = 1024;  // approximate memory per stored text
  static constexpr std::size_t kShingleWords = 5, kHashes = 64, kBands = 16;
  static constexpr double kSimilar = 0.8;

  explicit NearDuplicates(std::size_t bytes = kDuplicatesBytes) : texts_(bytes / kBytesOfText) {}
  bool seen(std::string_view text);
  bool forgot() const { return texts_.forgot(); }
  std::size_t reach() const { return texts_.reach(); }

 private:
  using Values = std::array<std::uint32_t, kHashes>;
  struct Signature {
    Values values;
    std::array<std::uint64_t, kBands> keys;  // one hash per band
  };
  struct Signatures {
    using Key = Signature;
    bool holds(const Key& signature) const;
    void add(const Key& signature);
    std::size_t size() const { return values.size(); }
    std::vector<Values> values;
    std::array<std::unordered_map<std::uint64_t, std::uint32_t>, kBands>
        bands;  // index of the first signature with this key, per band
  };
  Generations<Signatures> texts_;
};

}  // namespace smelt::text
