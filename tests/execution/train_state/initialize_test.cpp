#include "execution/train_state/initialize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"

namespace smelt::execution {
namespace {

model::StateTensor tensor(const char* name, compiler::Dims dims, model::Init init,
                          std::int64_t layers = 0) {
  return {.name = name,
          .shape = {compiler::DType::f32, std::move(dims)},
          .init = init,
          .layers = layers};
}

std::vector<float> drawn(const model::StateTensor& t, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(t.shape.elements()), NAN);
  draw_initial(t, seed, values);
  return values;
}

constexpr model::Init kNormal{.kind = model::Init::truncated_normal, .stddev = 0.02};

// Returns the uniform number in (-1, 1) from which value i of a tensor is computed.
double place_of(const char* name, std::uint64_t seed, std::size_t i) {
  const std::uint32_t word = philox(random_key(seed, name), i / 4, 0)[i % 4];
  return 2 * (((word >> 8) + 0.5) / (1 << 24)) - 1;
}

TEST(Initialize, NormalValuesFollowTheTruncatedDistribution) {
  const auto values = drawn(tensor("a", {1000, 333}, kNormal), 7);
  const double all = std::erf(std::sqrt(2.0));  // probability of two standard deviations
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i] / 0.02, t = place_of("a", 7, i);
    ASSERT_NEAR(std::erf(x / std::sqrt(2.0)) / all, t, 1e-6) << i;
    ASSERT_LE(std::fabs(values[i]), 0.04f) << i;
  }
}

TEST(Initialize, NormalValuesHaveTheMomentsOfTheTruncatedDistribution) {
  const auto values = drawn(tensor("a", {1 << 20}, kNormal), 1);
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  const double n = static_cast<double>(values.size());
  const double density = std::exp(-2.0) / std::sqrt(2 * M_PI);  // at two standard deviations
  const double variance = 1 - 4 * density / std::erf(std::sqrt(2.0));
  EXPECT_NEAR(sum / n, 0, 5 * 0.02 / std::sqrt(n));
  EXPECT_NEAR(squares / n / (0.02 * 0.02), variance, 0.005);
}

TEST(Initialize, UniformValuesAreWithinTheLimit) {
  const auto values = drawn(tensor("u", {5001}, {.kind = model::Init::uniform, .limit = 0.5}), 3);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], 0.5 * place_of("u", 3, i), 1e-7) << i;
}

TEST(Initialize, FillsConstantsWithTheirValue) {
  for (const float value : drawn(tensor("c", {3, 5}, {.value = 1.5}), 3)) EXPECT_EQ(value, 1.5f);
}

TEST(Initialize, StackedLayersMatchLayersDrawnByName) {
  const auto stack = drawn(tensor("layer_*/kernel", {3, 7, 11}, kNormal, 3), 5);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const std::string name = "layer_" + std::to_string(layer) + "/kernel";
    const auto one = drawn(tensor(name.c_str(), {7, 11}, kNormal), 5);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), stack.begin() + std::ssize(one) * layer));
  }
}

TEST(Initialize, AnotherSeedOrNameGivesOtherValues) {
  const auto values = drawn(tensor("a", {64}, kNormal), 1);
  EXPECT_EQ(values, drawn(tensor("a", {64}, kNormal), 1));
  EXPECT_NE(values, drawn(tensor("a", {64}, kNormal), 2));
  EXPECT_NE(values, drawn(tensor("b", {64}, kNormal), 1));
}

}  // namespace
}  // namespace smelt::execution
