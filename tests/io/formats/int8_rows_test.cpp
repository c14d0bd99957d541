#include "io/formats/int8_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "io/filesystem/file.h"
#include "io/formats/safetensors.h"
#include "support/oracle.h"

namespace smelt::io {
namespace {

using testing::ElementsAre;

// Returns random rows whose magnitudes repeat nine powers of ten, from 10^least on.
std::vector<float> random_rows(std::size_t rows, std::size_t columns, int least) {
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  std::vector<float> out(rows * columns);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = normal(engine) *
             std::pow(10.0F, static_cast<float>(least + static_cast<int>(i / columns % 9)));
  return out;
}

// Ties that round up and down, both ends of the range, signed zeros; rows of only zeros, of tiny
// values and of huge values.
const std::vector<float> kCorners{127.5F, 0.5F,   1.5F,   2.5F,  -0.5F, -1.5F,  -127.5F, -0.0F,
                                  0,      0,      0,      0,     0,     0,      0,       0,
                                  1e-8F,  -2e-8F, 1e-40F, 0,     3e-6F, -3e-6F, 1e-7F,   0,
                                  3e38F,  -3e38F, 1,      1e30F, -1,    2e38F,  1e36F,   -2e36F};

TEST(Int8Rows, MatchTheCompressedTensorsReferenceInNumpy) {
  REQUIRE_ORACLE();
  const auto many = random_rows(257, 31, -7);
  const TensorMap given{
      {"corners", {{compiler::DType::f32, {4, 8}}, std::as_bytes(std::span(kCorners))}},
      {"many", {{compiler::DType::f32, {257, 31}}, std::as_bytes(std::span(many))}}};
  const TempDir dir;
  write_file(dir.file("in"), safetensors_bytes(given));
  const auto result = run_oracle(
      str(source_path("tests/io/formats/int8_rows.py"), " ", dir.file("in"), " ", dir.file("out")));
  ASSERT_EQ(result.status, 0) << result.text;
  const SafetensorsFile want(read_file(dir.file("out")), "out");
  for (const auto& [name, view] : given) {
    const auto rows = static_cast<std::size_t>(view.shape.dims[0]);
    const Int8Rows ours = int8_rows(tensor_values<float>(view), rows);
    EXPECT_EQ(ours.scales, tensor_values<float>(want.at(name + ".scales"))) << name;
    EXPECT_EQ(ours.codes, tensor_values<std::int8_t>(want.at(name + ".codes"))) << name;
    EXPECT_EQ(int8_values(ours.codes, ours.scales, rows),
              tensor_values<float>(want.at(name + ".said")))
        << name;
  }
}

TEST(Int8Rows, RoundHalvesToEvenAndUseTheFullRange) {
  const Int8Rows ours = int8_rows(std::span(kCorners).first(8), 1);
  EXPECT_THAT(ours.scales, ElementsAre(1));
  EXPECT_THAT(ours.codes, ElementsAre(127, 0, 2, 2, 0, -2, -128, 0));
}

TEST(Int8Rows, ReportTheirSignalToNoiseRatio) {
  const auto many = random_rows(9, 768, -3);
  const Int8Rows ours = int8_rows(many, 9);
  const auto said = int8_values(ours.codes, ours.scales, 9);
  for (std::size_t i = 0; i < many.size(); ++i)
    EXPECT_LE(std::fabs(many[i] - said[i]), 0.5001 * ours.scales[i / 768]) << i;
  for (std::size_t r = 0; r < 9; ++r) {  // rows of a Gaussian: 42.3 dB on average
    const double db = signal_to_noise_db(std::span(many).subspan(r * 768, 768),
                                         std::span(said).subspan(r * 768, 768));
    EXPECT_GT(db, 38) << r;
    EXPECT_LT(db, 46) << r;
  }
  EXPECT_EQ(signal_to_noise_db(said, said), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(signal_to_noise_db(std::vector<float>{3, 4}, std::vector<float>{3, 3.5F}), 20, 1e-9);
}

// The first two rows have the medians 2 and 4 and the mean squared errors 1/3 and 16/3; the last
// row is exact.
TEST(Int8Rows, MiddleToNoiseRatioIgnoresOutliers) {
  const std::vector<float> values{-2, 1, 300, 4, 900, 3, 5, 6, 7},
      said{-2, 0, 300, 4, 900, -1, 5, 6, 7};
  EXPECT_NEAR(middle_to_noise_db(values, said, 3),
              -10 * std::log10((1.0 / 3 / 4 + 16.0 / 3 / 16) / 2), 1e-9);
  EXPECT_EQ(middle_to_noise_db(values, values, 3), std::numeric_limits<double>::infinity());
}

TEST(Int8Rows, CanBeStoredTransposed) {
  const auto many = random_rows(37, 53, -3);
  const Int8Rows ours = int8_rows(many, 37);
  const auto said = int8_values(ours.codes, ours.scales, 37);
  std::vector<float> turned(said.size());
  put_int8_values(ours.codes, ours.scales, 37, turned, Laid::transposed);
  for (std::size_t i = 0; i < said.size(); ++i)
    EXPECT_EQ(turned[i % 53 * 37 + i / 53], said[i]) << i;
}

TEST(Int8Rows, AcceptOneScaleForAllRows) {
  const std::vector<std::int8_t> codes{1, -2, 3, 127};
  EXPECT_THAT(int8_values(codes, std::vector<float>{0.5F}, 2), ElementsAre(0.5, -1, 1.5, 63.5));
}

}  // namespace
}  // namespace smelt::io
