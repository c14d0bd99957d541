// Documents and lines that stood before, in bounded memory: where more texts come than it holds,
// the ones that stood longest ago are forgotten. What is seen depends on the texts, their order and
// the bound alone.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace smelt {

constexpr std::size_t kDuplicatesBytes = std::size_t{512} << 20;

// Two generations of texts, each of half of them: when the newer one is full, the older one is
// forgotten. A text is compared with at least the last `texts` / 2 that were kept.
template <class Texts>
class Generations {
 public:
  explicit Generations(std::size_t texts) : half_(texts < 2 ? 1 : texts / 2) {}

  // Whether such a text was seen before; from now on it was.
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

// By the 64-bit hash of the words, whose ASCII capitals and white space do not count.
class ExactDuplicates {
 public:
  static constexpr std::size_t kBytesOfText = 40;  // that is kept

  explicit ExactDuplicates(std::size_t bytes = kDuplicatesBytes) : texts_(bytes / kBytesOfText) {}
  bool seen(std::string_view text);
  // Whether texts were forgotten; how many of the last ones are kept at least.
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

// By MinHash with banding (Broder 1997; Leskovec et al. 2014, "Mining of Massive Datasets", chapter
// 3): texts of which about 80 % or more of all runs of five words are common to both. In scripts
// that write no spaces between words, such as Han, kana and Thai, each character is a word. Texts
// of fewer than five words are compared by their runs of five characters.
class NearDuplicates {
 public:
  static constexpr std::size_t kBytesOfText = 1024;  // that is kept, about
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
    std::array<std::uint64_t, kBands> keys;  // of its bands
  };
  struct Signatures {
    using Key = Signature;
    bool holds(const Key& signature) const;
    void add(const Key& signature);
    std::size_t size() const { return values.size(); }
    std::vector<Values> values;
    std::array<std::unordered_map<std::uint64_t, std::uint32_t>, kBands>
        bands;  // to the first with this key
  };
  Generations<Signatures> texts_;
};

}  // namespace smelt
