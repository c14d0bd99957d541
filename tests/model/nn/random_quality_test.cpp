// Statistics of the hash's bits, and of Philox's with the same code and limits. Seeds are fixed, so
// a limit of five standard deviations is not a matter of luck.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "base/str.h"
#include "model/nn/random_twin.h"

namespace smelt::testing {
namespace {

using Words = std::vector<std::uint32_t>;

template <class Bits>
class RandomQuality : public ::testing::Test {
 public:
  using Draw = std::function<std::uint32_t(std::uint32_t)>;

  // Returns a sequence of words for each number that a word depends on; the others stay the same.
  static std::vector<std::pair<std::string, Draw>> sequences() {
    const auto from = [](auto change) {
      return [change](std::uint32_t i) {
        Drawer drawer;
        change(drawer, i);
        return Bits(drawer).at(3, 5);
      };
    };
    const Bits bits{Drawer{}};
    return {
        {"elements", [bits](std::uint32_t i) { return bits.at(3, i); }},
        {"places before the last axis", [bits](std::uint32_t i) { return bits.at(3, 5, 512 * i); }},
        {"rows", [bits](std::uint32_t i) { return bits.at(i, 5); }},
        {"far rows", [bits](std::uint32_t i) { return bits.at(0x7FF80000 + i, 5); }},
        {"every 1024th row", [bits](std::uint32_t i) { return bits.at(1024 * i, 5); }},
        {"steps", from([](Drawer& d, std::uint32_t i) { d.step = i; })},
        {"layers", from([](Drawer& d, std::uint32_t i) { d.layer = i; })},
        {"streams", from([](Drawer& d, std::uint32_t i) { d.stream = i; })},
        {"seeds", from([](Drawer& d, std::uint32_t i) { d.seed = i; })},
        {"places", from([](Drawer& d, std::uint32_t i) { d.place = str("layer_", i); })}};
  }
};

class Names {
 public:
  template <class Bits>
  static std::string GetName(int) {
    return std::is_same_v<Bits, HashBits> ? "Hash" : "Philox";
  }
};

using Kinds = ::testing::Types<HashBits, PhiloxBits>;
TYPED_TEST_SUITE(RandomQuality, Kinds, Names);

constexpr std::uint32_t kCount = 1 << 20;

Words drawn(const std::function<std::uint32_t(std::uint32_t)>& draw, std::uint32_t count = kCount) {
  Words words(count);
  for (std::uint32_t i = 0; i < count; ++i) words[i] = draw(i);
  return words;
}

// ---- one sequence ----

TYPED_TEST(RandomQuality, EachBitIsSetHalfOfTheTime) {
  for (const auto& [name, draw] : TestFixture::sequences()) {
    std::array<std::int64_t, 32> set{};
    for (const std::uint32_t word : drawn(draw))
      for (int bit = 0; bit < 32; ++bit) set[bit] += word >> bit & 1;
    for (int bit = 0; bit < 32; ++bit) {
      const double z = (static_cast<double>(set[bit]) - kCount / 2.0) / std::sqrt(kCount / 4.0);
      EXPECT_LT(std::abs(z), 5) << name << ", bit " << bit;
    }
  }
}

TYPED_TEST(RandomQuality, BitsOfAWordAreNotCorrelated) {
  for (const auto& [name, draw] : TestFixture::sequences()) {
    std::array<std::array<std::int64_t, 32>, 32> differing{};
    constexpr std::uint32_t kFewer = kCount / 4;
    for (const std::uint32_t word : drawn(draw, kFewer))
      for (int shift = 1; shift < 32; ++shift) {
        const std::uint32_t both = word ^ std::rotr(word, shift);
        for (int bit = 0; bit < 32; ++bit) differing[shift][bit] += both >> bit & 1;
      }
    for (int shift = 1; shift < 32; ++shift)
      for (int bit = 0; bit < 32; ++bit) {
        const double z =
            (static_cast<double>(differing[shift][bit]) - kFewer / 2.0) / std::sqrt(kFewer / 4.0);
        EXPECT_LT(std::abs(z), 6) << name << ", bits " << bit << " and " << (bit + shift) % 32;
      }
  }
}

// Returns by how many standard deviations chi-square over `cells` equally likely values differs
// from its mean.
double chi_square_z(const std::vector<std::int64_t>& counts) {
  const auto cells = static_cast<double>(counts.size()), expected = kCount / cells;
  double sum = 0;
  for (const std::int64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  return (sum - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

TYPED_TEST(RandomQuality, BytesAndHalfWordsAreUniform) {
  for (const auto& [name, draw] : TestFixture::sequences()) {
    const Words words = drawn(draw);
    for (const int width : {8, 16})
      for (int from = 0; from < 32; from += width) {
        std::vector<std::int64_t> counts(std::size_t{1} << width);
        for (const std::uint32_t word : words) ++counts[(word >> from) % counts.size()];
        EXPECT_LT(std::abs(chi_square_z(counts)), 5)
            << name << ", " << width << " bits from " << from;
      }
  }
}

// ---- correlations of pairs, in standard deviations ----

// Returns values drawn from bits, centered and scaled to variance one.
std::vector<float> mask(const Words& words, double rate) {
  const auto limit = static_cast<std::uint32_t>(std::round(rate * 0x1p32));
  const double scale = 1 / std::sqrt(rate * (1 - rate));
  const auto dropped = static_cast<float>((1 - rate) * scale);
  const auto kept = static_cast<float>(-rate * scale);
  std::vector<float> out;
  for (const std::uint32_t word : words) out.push_back(word < limit ? dropped : kept);
  return out;
}

std::vector<float> uniforms(const Words& words) {
  std::vector<float> out;
  for (const std::uint32_t word : words)
    out.push_back(static_cast<float>((word * 0x1p-32 - 0.5) * std::sqrt(12.0)));
  return out;
}

struct Named {
  const char* name;
  std::vector<float> values;
};
std::array<Named, 3> kinds(const Words& words) {
  return {{{"masks at 0.1", mask(words, 0.1)},
           {"masks at 0.5", mask(words, 0.5)},
           {"uniform values", uniforms(words)}}};
}

// Returns the correlation of the pairs (a[i], b[i]).
double correlation_z(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) /
         std::sqrt(static_cast<double>(a.size()));
}

TYPED_TEST(RandomQuality, WordsAtAnyLagAreNotCorrelated) {
  for (const auto& [name, draw] : TestFixture::sequences())
    for (const Named& kind : kinds(drawn(draw)))
      for (const std::size_t lag : {1, 2, 3, 64, 128, 512, 768, 1024, 3072, 65536, 262144}) {
        const std::span<const float> all = kind.values;
        const double z = correlation_z(all.first(all.size() - lag), all.subspan(lag));
        EXPECT_LT(std::abs(z), 5) << name << ", " << kind.name << ", " << lag << " apart";
      }
}

// Checks that a set of correlations is plausible by chance: none too large, no common trend, the
// expected spread.
void expect_normal(const std::vector<double>& z, const std::string& what) {
  const auto count = static_cast<double>(z.size());
  double sum = 0, squares = 0, largest = 0;
  for (const double value : z) {
    sum += value;
    squares += value * value;
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_LT(largest, 6) << what;
  EXPECT_LT(std::abs(sum) / std::sqrt(count), 5) << what;
  EXPECT_LT(std::abs(squares / count - 1), 5 * std::sqrt(2 / count)) << what;
}

constexpr std::uint32_t kRow = 1 << 13;  // elements of the compared rows

template <class Bits>
Words row_of(const Bits& bits, std::uint32_t row) {
  Words words(kRow);
  for (std::uint32_t i = 0; i < kRow; ++i) words[i] = bits.at(row, i);
  return words;
}

void expect_all_pairs_uncorrelated(const std::vector<Words>& rows, const std::string& what) {
  std::vector<std::array<Named, 3>> values;
  for (const Words& row : rows) values.push_back(kinds(row));
  for (std::size_t kind = 0; kind < 3; ++kind) {
    std::vector<double> z;
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        z.push_back(correlation_z(values[i][kind].values, values[j][kind].values));
    expect_normal(z, str(what, ", ", values[0][kind].name));
  }
}

TYPED_TEST(RandomQuality, RowsAreNotCorrelated) {
  const TypeParam bits{Drawer{}};
  for (const std::uint32_t first : {0u, 1000000u, 0x7FFFFFE0u, 0xFFFFFFC0u})
    for (const std::uint32_t apart : {1u, 512u, 1024u, 1u << 20}) {
      std::vector<Words> rows;
      for (std::uint32_t i = 0; i < 64; ++i) rows.push_back(row_of(bits, first + i * apart));
      expect_all_pairs_uncorrelated(rows, str("rows from ", first, ", ", apart, " apart"));
    }
}

// One row of the batch, at 64 positions before its last axis.
template <class Bits>
std::vector<Words> places_of(const Bits& bits, std::uint32_t width) {
  std::vector<Words> out(64, Words(kRow));
  for (std::uint32_t place = 0; place < 64; ++place)
    for (std::uint32_t i = 0; i < kRow; ++i) out[place][i] = bits.at(3, i, place * width);
  return out;
}

TYPED_TEST(RandomQuality, PositionsBeforeTheLastAxisAreNotCorrelated) {
  for (const std::uint32_t width : {kRow, 1u << 20})
    expect_all_pairs_uncorrelated(places_of(TypeParam{Drawer{}}, width),
                                  str("places ", width, " apart"));
}

void expect_corners_uncorrelated(const std::vector<Words>& words, const std::string& what) {
  std::vector<std::array<Named, 3>> rows;
  for (const Words& row : words) rows.push_back(kinds(row));
  for (std::size_t kind = 0; kind < 3; ++kind) {
    std::vector<double> z;
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        std::vector<float> product(kRow);
        for (std::size_t e = 0; e < kRow; ++e)
          product[e] = rows[i][kind].values[e] * rows[j][kind].values[e];
        const std::span<const float> all = product;
        for (const std::size_t lag : {1, 64, 512})
          z.push_back(correlation_z(all.first(kRow - lag), all.subspan(lag)));
      }
    expect_normal(z, str(what, ", ", rows[0][kind].name));
  }
}

// Rows and elements are combined by xor, and elements of two axes by a sum. The four corners of a
// rectangle therefore cancel before the last mixing step, but must not cancel after it.
TYPED_TEST(RandomQuality, TheCornersOfRectanglesAreNotCorrelated) {
  const TypeParam bits{Drawer{}};
  std::vector<Words> rows;
  for (std::uint32_t i = 0; i < 64; ++i) rows.push_back(row_of(bits, i));
  expect_corners_uncorrelated(rows, "rows");
  expect_corners_uncorrelated(places_of(bits, kRow), "places before the last axis");
}

TYPED_TEST(RandomQuality, StepsLayersStreamsSeedsAndScopesAreNotCorrelated) {
  using Change = std::function<void(Drawer&, std::uint32_t)>;
  const std::vector<std::pair<const char*, Change>> changes{
      {"steps", [](Drawer& d, std::uint32_t i) { d.step = i; }},
      {"late steps", [](Drawer& d, std::uint32_t i) { d.step = 1000000 + i; }},
      {"layers", [](Drawer& d, std::uint32_t i) { d.layer = i; }},
      {"streams", [](Drawer& d, std::uint32_t i) { d.stream = i; }},
      {"seeds", [](Drawer& d, std::uint32_t i) { d.seed = i; }},
      {"places", [](Drawer& d, std::uint32_t i) { d.place = str("bert/layer_", i, "/dropout"); }},
      {"steps with layers", [](Drawer& d, std::uint32_t i) { d.step = i / 8, d.layer = i % 8; }},
      {"steps with streams", [](Drawer& d, std::uint32_t i) { d.step = i / 8, d.stream = i % 8; }}};
  for (const auto& [name, change] : changes) {
    std::vector<Words> rows;
    for (std::uint32_t i = 0; i < 64; ++i) {
      Drawer drawer;
      change(drawer, i);
      rows.push_back(row_of(TypeParam(drawer), 0));
    }
    expect_all_pairs_uncorrelated(rows, name);
  }
}

// Checks the statistics themselves: a counter and a bad generator must fail.
TEST(RandomQualityTests, DetectABadGenerator) {
  Words counter(kCount);
  std::iota(counter.begin(), counter.end(), 0u);
  std::vector<std::int64_t> counts(256);
  for (const std::uint32_t word : counter) ++counts[word >> 24];
  EXPECT_GT(chi_square_z(counts), 5);
  Words weyl;
  for (const std::uint32_t i : counter) weyl.push_back(i * 0x9E3779B9u);
  const std::vector<float> values = uniforms(weyl);
  const std::span<const float> all = values;
  EXPECT_GT(std::abs(correlation_z(all.first(all.size() - 1), all.subspan(1))), 5);
}

}  // namespace
}  // namespace smelt::testing
