// Stacks of layers compared in a loop and unrolled: several kinds in one model, several carried
// tensors, and captured tensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "reference/cpu_device.h"
#include "reference/evaluate.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::broadcast_to;
using compiler::constant;
using compiler::convert;
using compiler::DType;
using compiler::grad;
using compiler::Program;
using compiler::reduce_sum;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::tanh;
using compiler::Tensor;
namespace {

using namespace smelt::testing;

constexpr std::int64_t kRows = 4, kWidth = 6, kLayers = 3;

// Encoder layers, then decoder layers that read the encoder's output and carry a counter.
struct TwoStacks {
  explicit TwoStacks(Layers layers) {
    const Scope root(program.graph, parameters, {}, {.layers = layers, .save = RematPolicy::layer});
    const Tensor x = program.graph.argument({DType::f32, {kRows, kWidth}});
    const auto half = [](const Scope& s, Tensor t) {
      return 0.5 * t + dense(s / "dense", tanh(t), kWidth, {});
    };
    const Tensor encoded = layer_stack(root, "encoder", kLayers, x, half);
    const std::vector<Tensor> decoded =
        layer_stack(root, "decoder", kLayers, {x, constant(program.graph, 0, DType::f32)},
                    [&](const Scope& s, const std::vector<Tensor>& xs) {
                      const Tensor seen = s.graph().capture(encoded);
                      return std::vector{half(s, xs[0]) * seen, xs[1] + reduce_sum(xs[0], {0, 1})};
                    });
    std::vector<Tensor> wrt{x};
    for (const Parameter& p : parameters.all()) wrt.push_back(p.tensor);
    const Tensor loss = reduce_sum(square(decoded[0]), {0, 1}) + decoded[1];
    program.results = grad(loss, wrt);
    program.results.push_back(loss);
  }

  // Returns the loss, and the gradient of each layer's parameters by name.
  std::map<std::string, std::vector<double>> values() const {
    std::vector<Value> arguments{
        random_value({.shape = program.graph.arguments()[0].shape(), .low = -1, .high = 1}, 1)};
    for (const Parameter& p : parameters.all()) arguments.push_back(stacked_value(p));
    const auto got = interpret(program.graph, program.results, arguments);
    std::map<std::string, std::vector<double>> out{{"x", got[0].real}, {"loss", got.back().real}};
    for (std::size_t i = 0; i < parameters.all().size(); ++i) {
      const auto names = parameters.all()[i].names();
      const std::vector<double>& all = got[i + 1].real;
      const auto size = static_cast<std::ptrdiff_t>(all.size() / names.size());
      for (std::size_t n = 0; n < names.size(); ++n) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(n) * size;
        out[names[n]] = {begin, begin + size};
      }
    }
    return out;
  }

  // Returns the parameter of each layer by its own name, whether stacked or not.
  static Value stacked_value(const Parameter& p) {
    Value out = empty_value(p.tensor.shape());
    out.real.clear();
    for (const std::string& name : p.names()) {
      std::uint64_t seed = 0;
      for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
      const Value one =
          random_value({.shape = {DType::f32, p.dims_of_one()}, .low = -1, .high = 1}, seed);
      out.real.insert(out.real.end(), one.real.begin(), one.real.end());
    }
    return out;
  }

  Parameters parameters;
  Program program;
};

TEST(LayerStack, LoopsMatchUnrolledLayersWithTwoKindsAndSeveralTensors) {
  const auto want = TwoStacks(Layers::unrolled).values(), got = TwoStacks(Layers::scan).values();
  EXPECT_TRUE(want.contains("encoder_0/dense/kernel") && want.contains("decoder_2/dense/bias"));
  EXPECT_EQ(want.size(), 2u + 2 * 2 * kLayers);
  for (const auto& [name, values] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(got.at(name)[i], values[i], 1e-9 * std::max(1.0, std::abs(values[i]))) << name;
  }
}

// A tensor that all layers read, like the encoder output in a decoder. Its gradient is 256 once and
// 1 in each of 63 layers; bf16, with 8 bits, cannot represent the intermediate sums.
TEST(LayerStack, SumsGradientsOfSharedTensorsInF32) {
  REQUIRE_PLUGIN("cpu");
  Program p;
  Parameters parameters;
  const Scope s(p.graph, parameters, {}, {.layers = Layers::scan, .save = RematPolicy::layer});
  const Tensor seen = p.graph.argument({DType::bf16, {2}});
  const Tensor by_layer = p.graph.argument({DType::bf16, {64}});
  const Tensor start = constant(p.graph, 0, DType::f32, {1, 2});
  const Tensor sum = layer_stack(s, "layer", 64, start, [&](const Scope& layer, Tensor x) {
    const Tensor weight = reduce_sum(
        layer.graph().capture(by_layer) * one_hot(reshape(layer.layer(), {1}), 64, DType::bf16),
        {0, 1});
    const Tensor own = layer.graph().capture(seen) * broadcast_to(weight, {2});
    return x + convert(reshape(own, {1, 2}), DType::f32);
  });
  p.results = {grad(reduce_sum(sum, {0, 1}), std::array{seen})[0]};
  EXPECT_EQ(p.results[0].dtype(), DType::bf16);
  Value factors = empty_value(by_layer.shape());
  std::ranges::fill(factors.real, 1.0);
  factors.real[63] = 256;  // the first layer of the reverse pass
  const auto got = run_on_cpu(p, {real_value(seen.shape(), {1, 1}), factors});
  EXPECT_EQ(got[0].real[0], 320);  // 319 rounded to bf16 once; 256 if each sum were rounded
}

}  // namespace
}  // namespace smelt::model
