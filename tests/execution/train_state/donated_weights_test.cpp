// Compares training steps whose weights are donated and updated in place with steps that keep their
// weights in separate buffers. A library that caches a rearranged copy of a weight by its address
// (as XNNPACK does) would use old values in the first case only.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/random.h"
#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"
#include "compiler/stablehlo/writer.h"
#include "model/nn/layers.h"
#include "pjrt/executable.h"
#include "support/plugins.h"

namespace smelt::execution {
namespace {

struct Sizes {
  std::int64_t tokens, in, hidden, out;
};

void PrintTo(const Sizes& s, std::ostream* out) {
  *out << s.tokens << " tokens, " << s.in << " x " << s.hidden << " x " << s.out;
}

enum class Weights { donated, kept };

// Returns one step of gradient descent on |tanh(x w1) w2 - t|^2: (w1, w2, x, t) -> (w1', w2',
// loss).
std::string step_text(const Sizes& s, Weights weights) {
  compiler::Program p;
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return p.graph.argument({compiler::DType::f32, {rows, columns}});
  };
  const std::array w{matrix(s.in, s.hidden), matrix(s.hidden, s.out)};
  const compiler::Tensor x = matrix(s.tokens, s.in), t = matrix(s.tokens, s.out);
  const compiler::Tensor error =
      compiler::matmul(compiler::tanh(compiler::matmul(x, w[0])), w[1]) - t;
  const compiler::Tensor loss =
      compiler::reduce_sum(model::square(error), {0, 1}) / static_cast<double>(s.tokens);
  const auto gradients = compiler::grad(loss, w);
  p.results = {w[0] - 0.02 * gradients[0], w[1] - 0.02 * gradients[1], loss};
  if (weights == Weights::donated) p.donated_by = {0, 1, -1};
  return compiler::emit_module(p, "step");
}

std::vector<float> draw(std::int64_t rows, std::int64_t columns, double range, std::int64_t seed) {
  PythonRandom random(seed);
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (float& value : values) value = static_cast<float>(range * (2 * random.random() - 1));
  return values;
}

// Returns the loss before each step.
std::vector<float> losses(const pjrt::Client& client, const Sizes& s, Weights weights) {
  const auto put = [&](std::int64_t rows, std::int64_t columns, double range, std::int64_t seed) {
    return pjrt::to_device<float>(client, draw(rows, columns, range, seed),
                                  {compiler::DType::f32, {rows, columns}});
  };
  pjrt::CompileOptions options;
  // By default XLA uses XNNPACK for matmuls on some processors only.
  options.overrides = {
      {"xla_cpu_experimental_xnn_graph_fusion_mode", "XNN_GRAPH_FUSION_MODE_BYPASS_COST_MODEL"}};
  const pjrt::Executable step = client.compile(step_text(s, weights), options);
  std::vector<pjrt::Buffer> buffers;  // kept alive, so that no address is reused
  buffers.push_back(put(s.in, s.hidden, 1 / std::sqrt(static_cast<double>(s.in)), 1));
  buffers.push_back(put(s.hidden, s.out, 1 / std::sqrt(static_cast<double>(s.hidden)), 2));
  const pjrt::Buffer x = put(s.tokens, s.in, 1, 3), t = put(s.tokens, s.out, 1, 4);
  std::vector<float> out;
  for (int i = 0; i < 6; ++i) {
    const std::size_t w = buffers.size() - 2;
    pjrt::Execution run = step.execute({{&buffers[w], &buffers[w + 1], &x, &t}});
    out.push_back(run.results[0][2].to_host<float>()[0]);
    buffers.push_back(std::move(run.results[0][0]));
    buffers.push_back(std::move(run.results[0][1]));
  }
  return out;
}

class DonatedWeights : public testing::TestWithParam<Sizes> {};

TEST_P(DonatedWeights, GiveTheLossesOfCopiedWeights) {
  SMELT_OPEN_CPU(client, 1);
  const auto got = losses(*client, GetParam(), Weights::donated);
  const auto want = losses(*client, GetParam(), Weights::kept);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 1e-5 * want[i]) << "at step " << i;
  EXPECT_LT(want.back(), 0.99 * want.front());  // the weights do change
}

INSTANTIATE_TEST_SUITE_P(FromNarrowToWide, DonatedWeights,
                         testing::Values(Sizes{8, 64, 64, 64}, Sizes{8, 1024, 1024, 256},
                                         Sizes{32, 128, 512, 128}, Sizes{64, 768, 768, 768},
                                         Sizes{256, 256, 1024, 256}, Sizes{256, 768, 256, 768},
                                         Sizes{1024, 256, 1024, 256}, Sizes{2048, 512, 512, 512},
                                         Sizes{4096, 64, 256, 64}, Sizes{4096, 1024, 64, 1024}));

}  // namespace
}  // namespace smelt::execution
