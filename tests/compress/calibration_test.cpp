// Histograms of the inputs of matmuls, and the thresholds found from them.
#include "compress/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "support/paths.h"

namespace smelt::compress {
namespace {

using testing::Each;

std::vector<float> drawn(std::size_t count, float times) {
  std::mt19937 bits(28);
  std::normal_distribution<float> normal;
  std::vector<float> out(count);
  for (float& x : out) x = times * std::abs(normal(bits));
  return out;
}

TEST(AbsHistogram, CountsDoNotDependOnOrder) {
  std::vector<float> values = drawn(5000, 3);
  values[4000] = 500;  // the bins become wider seven times
  AbsHistogram at_once, one_by_one, backwards;
  at_once.add(values);
  for (const float x : values) one_by_one.add({&x, 1});
  backwards.add(std::vector<float>(values.rbegin(), values.rbegin() + 2500));
  backwards.add(std::vector<float>(values.rbegin() + 2500, values.rend()));
  EXPECT_EQ(at_once.width, 0.25);  // 2048 bins of this width reach beyond 500
  EXPECT_EQ(at_once.most, 500);
  EXPECT_EQ(at_once.bins(), 2001);
  std::vector<std::int64_t> counts(AbsHistogram::kMostBins);
  for (const float x : values) ++counts[static_cast<std::size_t>(x * 4)];
  for (const AbsHistogram& h : {at_once, one_by_one, backwards}) {
    EXPECT_EQ(h.counts, counts);
    EXPECT_EQ(h.width, at_once.width);
  }
}

TEST(AbsHistogram, IgnoresPaddingAndCountsZeros) {
  AbsHistogram h;
  h.add(std::vector<float>{-1, 0, -1});
  EXPECT_EQ(h.counts[0], 1);
  EXPECT_EQ(threshold_of(h, Calibration::entropy), 0);
  h.add(std::vector<float>{-1, 0, 0x1p-130F, 0x1p120F});  // nearly the full range of f32
  EXPECT_EQ(h.counts[0], 3);
  EXPECT_EQ(h.counts[1024], 1);
  EXPECT_EQ(h.width, 0x1p110);
  EXPECT_EQ(std::accumulate(h.counts.begin(), h.counts.end(), std::int64_t{0}), 4);
  h.add(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_TRUE(std::isinf(h.most));
}

// Compares thresholds with numpy implementations and, if they exist, the original programs.
TEST(Calibration, FindsTheSameThresholdsAsTheOriginals) {
  const Json golden = Json::parse(io::read_file(source_path("tests/golden/calibration.json")));
  ASSERT_GE(golden["histograms"].size(), 6);
  for (const auto& [name, facts] : golden["histograms"].items()) {
    AbsHistogram h;
    const auto counts = facts["counts"].get<std::vector<std::int64_t>>();
    std::ranges::copy(counts, h.counts.begin());
    h.width = facts["width"];
    h.most = facts["most"];
    EXPECT_EQ(h.bins(), counts.size()) << name;
    for (const auto& [word, by] : kCalibrations)
      EXPECT_NEAR(threshold_of(h, by), facts["thresholds"][std::string(word)].get<double>(),
                  1e-6 * h.most)
          << name << " " << word;
  }
}

TEST(Calibration, ScaleIsNeverZero) {
  EXPECT_EQ(input_scale_for(127), 1);
  EXPECT_EQ(input_scale_for(0), 0x1p-23F);
}

}  // namespace
}  // namespace smelt::compress
