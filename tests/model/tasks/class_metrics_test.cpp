// Classification metrics from counts, with values computed by hand.
#include "model/tasks/class_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reference/cpu_device.h"
#include "reference/evaluate.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::DType;
using compiler::Program;
using compiler::Shape;
using compiler::Tensor;
namespace {

using Counts = std::vector<double>;

// Predictions 0 1 1 2 0 2 1 0 2 2 for labels 0 0 1 2 2 2 1 0 2 1.
const Counts kThree{2, 2, 3, 3, 3, 4, 3, 3, 4};

TEST(ClassMetrics, AreComputedFromCounts) {
  EXPECT_NEAR(macro_f1(kThree), (2.0 / 3 + 2.0 / 3 + 0.75) / 3, 1e-12);
  EXPECT_NEAR(micro_f1(kThree), 0.7, 1e-12);
  EXPECT_NEAR(matthews(kThree), 36.0 / 66, 1e-12);
  EXPECT_NEAR(f1_of_last(kThree), 0.75, 1e-12);
}

TEST(ClassMetrics, MeanF1IgnoresClassesThatNeverOccur) {
  EXPECT_NEAR(macro_f1(Counts{2, 0, 2, 0, 4, 0}), 2.0 * 2 / 6, 1e-12);
  EXPECT_EQ(macro_f1(Counts{0, 0, 0, 0, 0, 0}), 0);
}

TEST(ClassMetrics, ConstantValuesHaveNoCorrelation) {
  EXPECT_EQ(matthews(Counts{3, 0, 5, 0, 3, 2}), 0);
  EXPECT_EQ(pearson(Counts{3, 6, 3, 12, 5, 6}), 0);
}

TEST(ClassMetrics, PearsonIsComputedFromMoments) {
  const std::vector<double> x{1, 2, 4, 7}, y{3, 1, 5, 6};
  Counts m(6);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double of[]{1, x[i], y[i], x[i] * x[i], y[i] * y[i], x[i] * y[i]};
    for (std::size_t k = 0; k < 6; ++k) m[k] += of[k];
  }
  // With means 3.5 and 3.75: the sum of products is 14.5, those of squares are 21 and 14.75.
  EXPECT_NEAR(pearson(m), 14.5 / std::sqrt(21 * 14.75), 1e-12);
}

// In f32, squares of 20000 leave no bits for differences between 0 and 7.
TEST(ClassMetrics, PearsonIsAccurateFarFromZero) {
  REQUIRE_PLUGIN("cpu");
  const auto of = [](double shift, double center) {
    Program p;
    const Shape row{DType::f32, {4}};
    const Tensor x = p.graph.argument(row), y = p.graph.argument(row), w = p.graph.argument(row);
    p.results = {moments(x, y, w, center)};
    const auto moved = [&](std::vector<double> numbers) {
      for (double& one : numbers) one += shift;
      return testing::real_value(row, numbers);
    };
    return pearson(testing::run_on_cpu(p, {moved({1, 2, 4, 7}), moved({3, 1, 5, 6}),
                                           testing::real_value(row, {1, 1, 1, 1})})[0]
                       .real);
  };
  const double near = of(0, 0);
  EXPECT_NEAR(near, 14.5 / std::sqrt(21 * 14.75), 1e-6);
  EXPECT_NEAR(of(20000, 20003.6), near, 1e-5);
  EXPECT_GT(std::abs(of(20000, 0) - near), 1e-3);
}

}  // namespace
}  // namespace smelt::model
