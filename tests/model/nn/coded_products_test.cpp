// Integer matmuls: their results, and that no intermediate value is narrower than 32 bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <regex>

#include "compiler/ops/ops.h"
#include "compiler/stablehlo/writer.h"
#include "model/nn/layers.h"
#include "reference/cpu_device.h"
#include "reference/evaluate.h"
#include "support/plugins.h"

namespace smelt::testing {

using compiler::dot_general;
using compiler::DType;
using compiler::emit_module;
using compiler::Program;
using compiler::Shape;
using compiler::Tensor;
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t T = 4, I = 40, O = 24;

// Two layers with one input: "a" is quantized, and "b" if `both`.
struct TwoLayers {
  explicit TwoLayers(bool both, model::RowScales of_a = model::RowScales::own) {
    model::CodedKernels kernels{{"a/kernel", of_a}};
    if (both) kernels["b/kernel"] = model::RowScales::own;
    model::ComputePolicy compute;
    compute.in_codes = std::make_shared<const model::CodedKernels>(kernels);
    const Tensor x = program.graph.argument({DType::f32, {2, T / 2, I}});
    const model::Scope root(program.graph, parameters, {}, compute);
    const std::array layers{model::DenseLayer{root / "a", {}}, model::DenseLayer{root / "b", {}}};
    program.results = model::fused_dense(layers, x, O);
  }
  std::vector<Value> values() const {
    std::vector<Value> out;
    for (const Tensor& argument : program.graph.arguments()) {
      const double most = argument.dtype() == DType::s8 ? 128 : 2;
      out.push_back(random_value({argument.shape(), -most, most}, 1 + out.size()));
    }
    return out;
  }
  Program program;
  model::Parameters parameters;
};

// Computes the result with plain loops and 64-bit sums. `given` is the scale of all rows; 0: each
// row has its own.
std::vector<float> by_loops(const Value& x, const Value& codes, const Value& scales,
                            const Value& bias, float given = 0) {
  std::vector<float> out;
  for (std::int64_t t = 0; t < T; ++t) {
    float most = 0;
    for (std::int64_t i = 0; i < I; ++i)
      most = std::max(most, std::fabs(static_cast<float>(x.real[t * I + i])));
    const float scale = given > 0 ? given : std::max(most / 127.0F, 0x1p-23F);
    for (std::int64_t o = 0; o < O; ++o) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < I; ++i) {
        const float code = std::nearbyint(static_cast<float>(x.real[t * I + i]) / scale);
        sum +=
            static_cast<std::int64_t>(std::clamp(code, -128.0F, 127.0F)) * codes.integer(o * I + i);
      }
      out.push_back(static_cast<float>(sum) * scale * static_cast<float>(scales.real[o]) +
                    static_cast<float>(bias.real[o]));
    }
  }
  return out;
}

TEST(QuantizedMatmuls, AreExactIntegerSums) {
  REQUIRE_PLUGIN("cpu");
  const TwoLayers layers(true);
  const auto values = layers.values();  // x; codes, scales and bias of a; those of b
  ASSERT_EQ(values.size(), 7);
  EXPECT_EQ(values[1].shape, (Shape{DType::s8, {O, I}}));
  const auto got = run_on_cpu(layers.program, values);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const std::size_t at = 1 + 3 * layer;
    const auto want = by_loops(values[0], values[at], values[at + 1], values[at + 2]);
    ASSERT_EQ(got[layer].shape, (Shape{DType::f32, {2, T / 2, O}}));
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[layer].real[i], want[i], 1e-3 + 1e-6 * std::abs(want[i]));
  }
}

// x is within ±2. With scale 1/128 for all rows half of it is clamped to the largest code.
TEST(QuantizedMatmuls, SupportStaticAndDynamicScalesTogether) {
  REQUIRE_PLUGIN("cpu");
  const TwoLayers layers(true, model::RowScales::given);
  auto values = layers.values();  // x; codes, scales, input scale and bias of a; those of b
  ASSERT_EQ(values.size(), 8);
  ASSERT_EQ(values[3].shape, (Shape{DType::f32, {1}}));
  for (const float scale : {0x1p-7F, 0.03F}) {
    values[3].real[0] = scale;
    const auto got = run_on_cpu(layers.program, values);
    const auto of_a = by_loops(values[0], values[1], values[2], values[4], scale),
               of_b = by_loops(values[0], values[5], values[6], values[7]);
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      EXPECT_NEAR(got[0].real[i], of_a[i], 1e-3 + 1e-6 * std::abs(of_a[i]));
      EXPECT_NEAR(got[1].real[i], of_b[i], 1e-3 + 1e-6 * std::abs(of_b[i]));
    }
  }
}

TEST(QuantizedMatmuls, AreExactOnTheCpuForTheLargestCodes) {
  REQUIRE_PLUGIN("cpu");
  Program p;
  const Tensor a = p.graph.argument({DType::s8, {8, 3072}}),
               b = p.graph.argument({DType::s8, {16, 3072}});
  p.results = {dot_general(a, b, {{}, {}, {1}, {1}}, DType::s32)};
  Value x = random_value({a.shape(), -128, 128}, 1), y = random_value({b.shape(), -128, 128}, 2);
  for (std::int64_t i = 0; i < 3072; ++i) {  // 3072 * 2^14 exceeds the 24 bits of a float
    x.bits[i] = wrapped(DType::s8, static_cast<std::uint64_t>(-128));
    y.bits[i] = x.bits[i];
  }
  const Value got = run_on_cpu(p, {x, y})[0];
  for (std::int64_t i = 0; i < 8; ++i)
    for (std::int64_t j = 0; j < 16; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < 3072; ++k)
        sum += x.integer(i * 3072 + k) * y.integer(j * 3072 + k);
      EXPECT_EQ(got.integer(i * 16 + j), sum);
    }
  EXPECT_EQ(got.integer(0), std::int64_t{3072} << 14);
}

TEST(QuantizedMatmuls, AreEmittedAs32BitMatmulsWithoutDequantizedKernels) {
  const TwoLayers layers(true);
  const std::string text = emit_module(layers.program, "step");
  const std::regex product(
      R"(stablehlo\.dot_general.*\(tensor<4x40xi8>, tensor<24x40xi8>\) -> (\S+))");
  int products = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), product), end; it != end; ++it, ++products)
    EXPECT_EQ((*it)[1], "tensor<4x24xi32>");
  EXPECT_EQ(products, 2);
  EXPECT_THAT(text, Not(HasSubstr("(tensor<24x40xi8>) -> tensor<24x40xf32>")));
}

TEST(QuantizedMatmuls, SupportFloatKernelsOnTheSameInput) {
  REQUIRE_PLUGIN("cpu");
  const TwoLayers layers(false);
  const auto values = layers.values();  // x; codes, scales and bias of a; kernel and bias of b
  ASSERT_EQ(values.size(), 6);
  EXPECT_EQ(values[4].shape, (Shape{DType::f32, {I, O}}));
  const auto got = run_on_cpu(layers.program, values);
  EXPECT_NEAR(got[0].real[0], by_loops(values[0], values[1], values[2], values[3])[0], 1e-3);
  double sum = values[5].real[0];
  for (std::int64_t i = 0; i < I; ++i) sum += values[0].real[i] * values[4].real[i * O];
  EXPECT_NEAR(got[1].real[0], sum, 1e-4);
}

}  // namespace
}  // namespace smelt::testing
