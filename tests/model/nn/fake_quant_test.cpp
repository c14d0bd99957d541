// Matmuls with fake quantization: their values and gradients.
#include "model/nn/fake_quant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>

#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"
#include "io/filesystem/file.h"
#include "io/formats/int8_rows.h"
#include "io/formats/safetensors.h"
#include "model/nn/layers.h"
#include "reference/cpu_device.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::testing {

using compiler::constant;
using compiler::DType;
using compiler::emit_module;
using compiler::grad;
using compiler::Program;
using compiler::reduce_sum;
using compiler::Tensor;
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kTokens = 6, kIn = 40, kOut = 24;

enum class Kernel { fake, in_codes };

// x [T,I] times a kernel [I,O] within a layer: y, and for fake quantization the gradients of sum(y
// cotangent) with respect to both.
struct OneProduct {
  explicit OneProduct(Kernel kernel, bool in_layer = true, bool joined = false) {
    model::ComputePolicy compute;
    compute.joined_products = joined;
    if (kernel == Kernel::in_codes)
      compute.in_codes = std::make_shared<const model::CodedKernels>(
          model::CodedKernels{{in_layer ? "layer_0/kernel" : "kernel", model::RowScales::own}});
    const Tensor x = program.graph.argument({DType::f32, {2, kTokens / 2, kIn}});
    model::Scope s(program.graph, parameters, {}, compute);
    if (kernel == Kernel::fake) s = s.fake_quantized();
    if (in_layer) s = s.layer("layer", 0);
    const Tensor y = model::fused_matmul(s, x, {s.parameter("kernel", {kIn, kOut}, {})})[0];
    program.results = {y};
    if (kernel == Kernel::in_codes) return;
    const Tensor cotangent = program.graph.argument(y.shape());
    const std::vector<Tensor> wrt{x, parameters.all()[0].tensor};
    for (const Tensor& g : grad(reduce_sum(y * cotangent, {0, 1, 2}), wrt))
      program.results.push_back(g);
  }
  Program program;
  model::Parameters parameters;
};

struct Given {
  Value x = random_value({{DType::f32, {2, kTokens / 2, kIn}}, -2, 2}, 1),
        kernel = random_value({{DType::f32, {kIn, kOut}}, -1, 1}, 2),
        cotangent = random_value({{DType::f32, {2, kTokens / 2, kOut}}, -1, 1}, 3);
};

std::vector<float> floats_of(const Value& value) { return {value.real.begin(), value.real.end()}; }

void expect_near(const Value& got, const std::vector<float>& want, double tolerance) {
  ASSERT_EQ(got.real.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.real[i], want[i], tolerance) << i;
}

TEST(FakeQuant, MatchesJaxAndTensorFlow) {
  REQUIRE_ORACLE();
  REQUIRE_PLUGIN("cpu");
  const Given given;
  const std::vector<float> x = floats_of(given.x), kernel = floats_of(given.kernel),
                           cotangent = floats_of(given.cotangent);
  const TempDir dir;
  const io::TensorMap in{
      {"x", {{DType::f32, {kTokens, kIn}}, std::as_bytes(std::span(x))}},
      {"kernel", {{DType::f32, {kIn, kOut}}, std::as_bytes(std::span(kernel))}},
      {"cotangent", {{DType::f32, {kTokens, kOut}}, std::as_bytes(std::span(cotangent))}}};
  io::write_file(dir.file("in"), io::safetensors_bytes(in));
  const auto output = run_oracle(str(source_path("tools/fake_quant_twin.py"), " ", dir.file("in"),
                                     " ", dir.file("out"), " 2>&1"));
  ASSERT_EQ(output.status, 0) << output.text;
  const io::SafetensorsFile out(io::read_file(dir.file("out")), "out");
  for (const bool joined : {false, true}) {
    const OneProduct product(Kernel::fake, true, joined);
    const auto got = run_on_cpu(product.program, {given.x, given.kernel, given.cotangent});
    expect_near(got[0], io::tensor_values<float>(out.at("y")), 2e-5);
    expect_near(got[1], io::tensor_values<float>(out.at("dx")), 2e-5);
    expect_near(got[2], io::tensor_values<float>(out.at("dkernel")), 2e-5);
  }
}

TEST(FakeQuant, MatchesTheInt8Matmul) {
  REQUIRE_PLUGIN("cpu");
  const Given given;
  std::vector<float> rows(kIn * kOut);  // [O,I], as stored in a folder
  for (std::int64_t i = 0; i < kIn; ++i)
    for (std::int64_t o = 0; o < kOut; ++o)
      rows[static_cast<std::size_t>(o * kIn + i)] =
          static_cast<float>(given.kernel.real[static_cast<std::size_t>(i * kOut + o)]);
  const io::Int8Rows in_codes = io::int8_rows(rows, kOut);
  Value codes{.shape = {DType::s8, {kOut, kIn}}, .real = {}, .bits = {}},
      scales{.shape = {DType::f32, {kOut}}, .real = {}, .bits = {}};
  for (const std::int8_t code : in_codes.codes)
    codes.bits.push_back(wrapped(DType::s8, static_cast<std::uint64_t>(code)));
  scales.real.assign(in_codes.scales.begin(), in_codes.scales.end());
  const OneProduct later(Kernel::in_codes);
  const auto want = run_on_cpu(later.program, {given.x, codes, scales});
  const auto got =
      run_on_cpu(OneProduct(Kernel::fake).program, {given.x, given.kernel, given.cotangent});
  expect_near(got[0], floats_of(want[0]), 2e-6);
}

TEST(FakeQuant, AppliesToLayersOnly) {
  const auto text = [](bool in_layer) {
    return emit_module(OneProduct(Kernel::fake, in_layer).program, "step");
  };
  EXPECT_THAT(text(true), HasSubstr("round_nearest_even"));
  EXPECT_THAT(text(false), Not(HasSubstr("round_nearest_even")));
}

TEST(FakeQuant, ZerosGiveZeroNotNan) {
  REQUIRE_PLUGIN("cpu");
  Given given;
  std::ranges::fill(given.x.real, 0);
  std::ranges::fill(given.kernel.real, 0);
  for (const Value& value :
       run_on_cpu(OneProduct(Kernel::fake).program, {given.x, given.kernel, given.cotangent}))
    for (const double number : value.real) EXPECT_EQ(number, 0);
}

}  // namespace
}  // namespace smelt::testing
