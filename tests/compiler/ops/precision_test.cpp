// The precision of matmuls, sums and gradients, checked by values and by emitted text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"
#include "reference/cpu_device.h"
#include "support/plugins.h"

namespace smelt::testing {

using compiler::broadcast_to;
using compiler::convert;
using compiler::Dims;
using compiler::dot_general;
using compiler::DType;
using compiler::emit_module;
using compiler::full_like;
using compiler::grad;
using compiler::Graph;
using compiler::HloForm;
using compiler::iota;
using compiler::matmul;
using compiler::Program;
using compiler::reduce_sum;
using compiler::remainder;
using compiler::reshape;
using compiler::round_like_mxu;
using compiler::Shape;
using compiler::slice_axis;
using compiler::Tensor;
using compiler::transpose;
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Convert = Tensor (*)(Tensor, DType);

// ---- rounded(): 256 and 255 ones sum to 511 in f32; bf16 (8 significant bits) has 510 and 512
// ----

Value ones_but_first(const Shape& shape, double first) {
  Value out = empty_value(shape);
  std::ranges::fill(out.real, 1.0);
  out.real[0] = first;
  return out;
}

// Returns the gradient of loss(x, narrow(w, bf16)) with respect to w, computed on the CPU. x is
// bf16; w is f32 [1,1].
template <class Loss>
Value weight_gradient(const Dims& x_dims, Convert narrow, const Loss& loss) {
  Program p;
  const Tensor x = p.graph.argument({DType::bf16, x_dims});
  const Tensor w = p.graph.argument({DType::f32, {1, 1}});
  const Tensor l = loss(x, narrow(w, DType::bf16));
  p.results = {grad(l, std::array{w})[0]};
  // Without this flag XLA may skip rounding steps.
  const pjrt::CompileOptions as_written{.overrides = {{"xla_allow_excess_precision", "false"}}};
  return run_on_cpu(p, {ones_but_first(x.shape(), 256), ones_but_first(w.shape(), 1)},
                    as_written)[0];
}

Tensor total(Tensor x) {
  return reduce_sum(convert(reshape(x, {x.shape().elements()}), DType::f32), {0});
}

TEST(Rounded, KeepsTheMatmulGradientInF32) {
  REQUIRE_PLUGIN("cpu");
  const auto product = [](Tensor x, Tensor w) { return total(matmul(x, w)); };
  const Value got = weight_gradient({256, 1}, smelt::compiler::rounded, product);
  EXPECT_EQ(got.shape, (Shape{DType::f32, {1, 1}}));
  EXPECT_EQ(got.real[0], 511);
  EXPECT_EQ(weight_gradient({256, 1}, convert, product).real[0], 512);  // rounded to even
}

// A layout change in between does not lose precision.
TEST(Rounded, KeepsTheMatmulGradientInF32ThroughAReshape) {
  REQUIRE_PLUGIN("cpu");
  const auto product = [](Tensor x, Tensor w) {
    const Tensor wide = reshape(w, {1, 1, 1});
    return total(matmul(x, transpose(reshape(wide, {1, 1}), {1, 0})));
  };
  EXPECT_EQ(weight_gradient({256, 1}, smelt::compiler::rounded, product).real[0], 511);
  EXPECT_EQ(weight_gradient({256, 1}, convert, product).real[0], 512);
}

TEST(Rounded, AddsGradientsOfSeveralUsesInF32) {
  REQUIRE_PLUGIN("cpu");
  const auto twice = [](Tensor x, Tensor w) {
    return total(matmul(slice_axis(x, 0, 0, 1), w)) + total(matmul(slice_axis(x, 0, 1, 2), w));
  };
  EXPECT_EQ(weight_gradient({2, 1}, smelt::compiler::rounded, twice).real[0], 257);
  EXPECT_EQ(weight_gradient({2, 1}, convert, twice).real[0], 256);
  // One use is not a matmul: its contribution is bf16.
  const auto mixed = [](Tensor x, Tensor w) {
    return total(matmul(slice_axis(x, 0, 0, 1), w)) + total(w * slice_axis(x, 0, 1, 2));
  };
  EXPECT_EQ(weight_gradient({2, 1}, smelt::compiler::rounded, mixed).real[0], 257);
}

TEST(Rounded, ReturnsTheSameValueAsConvert) {
  Graph graph;
  const Tensor w = graph.argument({DType::f32, {3}});
  const Tensor narrow = smelt::compiler::rounded(w, DType::bf16);
  EXPECT_EQ(narrow.shape(), convert(w, DType::bf16).shape());
  EXPECT_EQ(narrow.node().op, convert(w, DType::bf16).node().op);
  EXPECT_EQ(smelt::compiler::rounded(w, DType::f32), w);
}

TEST(RoundLikeMxu, RoundsAValueAndItsCotangentUnlessMatmulsAreExact) {
  REQUIRE_PLUGIN("cpu");
  Program p;
  const Tensor x = p.graph.argument({DType::f32, {2}}), ct = p.graph.argument({DType::f32, {2}});
  const Tensor y = round_like_mxu(x);
  p.results = {y, grad(reduce_sum(y * ct, {0}), std::array{x})[0]};
  const std::vector<Value> in{{x.shape(), {257, -1.25}, {}}, {ct.shape(), {513, 3}, {}}};
  const auto narrow = run_on_cpu(p, in);
  EXPECT_THAT(narrow[0].real, ElementsAre(256, -1.25));
  EXPECT_THAT(narrow[1].real, ElementsAre(512, 3));
  p.form.exact_products = true;
  const auto exact = run_on_cpu(p, in);
  EXPECT_THAT(exact[0].real, ElementsAre(257, -1.25));
  EXPECT_THAT(exact[1].real, ElementsAre(513, 3));
}

TEST(DotGeneral, ReturnsTheRequestedType) {
  Program p;
  const Tensor a = p.graph.argument({DType::bf16, {1, 512}});
  const Tensor b = p.graph.argument({DType::bf16, {512, 1}});
  p.results = {dot_general(a, b, {{}, {}, {1}, {0}}, DType::f32), matmul(a, b)};
  EXPECT_EQ(p.results[0].dtype(), DType::f32);
  EXPECT_EQ(p.results[1].dtype(), DType::bf16);
  EXPECT_THAT(emit_module(p, "m"),
              HasSubstr("(tensor<1x512xbf16>, tensor<512x1xbf16>) -> tensor<1x1xf32>"));
  REQUIRE_PLUGIN("cpu");
  const auto got = run_on_cpu(p, {ones_but_first(a.shape(), 2), ones_but_first(b.shape(), 1)});
  EXPECT_EQ(got[0].real[0], 513);
  EXPECT_EQ(got[1].real[0], 512);
}

// ---- row sums as matmuls with ones ----

struct RowSums {
  // Columns of f32 rows. Every third value is large so that rounding to fewer bits would show.
  RowSums(Dims dims, const Dims& axes, bool as_products) {
    const Tensor x = program.graph.argument({DType::f32, std::move(dims)});
    program.results = {reduce_sum(x, axes)};
    program.form.sums_as_products = as_products;
    argument = random_value({.shape = x.shape(), .low = -1, .high = 1}, 5);
    for (std::size_t i = 0; i < argument.real.size(); i += 3) argument.real[i] += 100;
    for (double& value : argument.real) value = static_cast<float>(value);
  }
  std::string text() const { return emit_module(program, "sums"); }
  std::vector<double> on_cpu() const { return run_on_cpu(program, {argument})[0].real; }
  double exact(std::size_t column, std::size_t columns) const {
    double sum = 0;
    for (std::size_t i = column; i < argument.real.size(); i += columns) sum += argument.real[i];
    return sum;
  }

  Program program;
  Value argument;
};

TEST(SumsAsMatmuls, AreMatmulsIfRowsAreSummed) {
  for (const auto& [dims, axes] :
       {std::pair{Dims{64, 8}, Dims{0}}, {Dims{4, 32, 16}, Dims{0, 1}}}) {
    EXPECT_THAT(RowSums(dims, axes, true).text(), HasSubstr("stablehlo.dot_general"));
    EXPECT_THAT(RowSums(dims, axes, true).text(), Not(HasSubstr("stablehlo.reduce\"")));
    EXPECT_THAT(RowSums(dims, axes, false).text(), HasSubstr("stablehlo.reduce\""));
    EXPECT_THAT(RowSums(dims, axes, false).text(), Not(HasSubstr("stablehlo.dot_general")));
  }
  // Sums along rows, few rows, few columns, or the middle axis: an ordinary reduce.
  for (const auto& [dims, axes] : {std::pair{Dims{8, 64}, Dims{1}},
                                   {Dims{63, 8}, Dims{0}},
                                   {Dims{64, 7}, Dims{0}},
                                   {Dims{2, 64, 8}, Dims{1}},
                                   {Dims{64, 8}, Dims{0, 1}}})
    EXPECT_EQ(RowSums(dims, axes, true).text(), RowSums(dims, axes, false).text());
}

TEST(SumsAsMatmuls, HaveTheSameValuesAsReduce) {
  REQUIRE_PLUGIN("cpu");
  const RowSums product({3, 500, 24}, {0, 1}, true), plain({3, 500, 24}, {0, 1}, false);
  const auto got = product.on_cpu(), want = plain.on_cpu();
  ASSERT_EQ(got.size(), 24u);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double exact = product.exact(i, 24), size = 500 * 100;  // the sum of absolute values
    EXPECT_NEAR(got[i], exact, 1e-6 * size);
    EXPECT_NEAR(want[i], exact, 1e-6 * size);
  }
}

// ---- sums of very many values ----

// The squares of 1 … 13, repeated: adding more than a million of them sequentially loses bits.
double sum_of_squares_on_cpu(const Dims& dims, const HloForm& form) {
  Program p;
  p.form = form;
  const Tensor unit = p.graph.argument({DType::f32, {}});
  const auto along = [&](std::int64_t axis) { return iota(p.graph, {DType::s32, dims}, axis); };
  const Tensor number = along(0) * full_like(along(0), static_cast<double>(dims[1])) + along(1);
  const Tensor turn = remainder(number, full_like(number, 13)) + full_like(number, 1);
  const Tensor x = convert(turn, DType::f32) * broadcast_to(unit, dims);
  p.results = {reduce_sum(x * x, {0, 1})};
  return run_on_cpu(p, {{unit.shape(), {1}, {}}})[0].real[0];
}

TEST(LongSums, AreAccurateTo1e6ForAMultilingualVocabulary) {
  REQUIRE_PLUGIN("cpu");
  constexpr std::int64_t kWords = 119547, kWidth = 768;
  double exact = 0;
  for (std::int64_t i = 0; i < kWords * kWidth; ++i)
    exact += static_cast<double>((i % 13 + 1) * (i % 13 + 1));
  const auto error = [&](const HloForm& form) {
    return std::abs(sum_of_squares_on_cpu({kWords, kWidth}, form) / exact - 1);
  };
  EXPECT_LT(error({.long_sums_in_f64 = true}), 1e-6);
  EXPECT_GT(error({}), 1e-3);  // otherwise this test cannot fail
}

TEST(LongSums, ApplyToF32Only) {
  const auto text = [](const Shape& shape, const Dims& axes) {
    Program p;
    p.form.long_sums_in_f64 = true;
    p.results = {reduce_sum(p.graph.argument(shape), axes)};
    return emit_module(p, "sums");
  };
  EXPECT_THAT(text({DType::f32, {1024, 64}}, {0, 1}), HasSubstr("xf64>"));
  EXPECT_THAT(text({DType::f32, {2, 1024, 64}}, {1, 2}), HasSubstr("xf64>"));
  EXPECT_THAT(text({DType::f32, {1023, 64}}, {0, 1}), Not(HasSubstr("f64")));
  EXPECT_THAT(text({DType::s32, {1024, 64}}, {0, 1}), Not(HasSubstr("f64")));
}

}  // namespace
}  // namespace smelt::testing
