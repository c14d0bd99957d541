#include "compiler/stablehlo/writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "reference/cpu_device.h"
#include "reference/interpreter.h"
#include "support/plugins.h"

namespace smelt::testing {

using compiler::bitcast_convert;
using compiler::Compare;
using compiler::compare;
using compiler::constant;
using compiler::DType;
using compiler::emit_module;
using compiler::exp;
using compiler::Graph;
using compiler::hlo_dense;
using compiler::hlo_dims;
using compiler::hlo_list;
using compiler::hlo_sharding;
using compiler::hlo_type;
using compiler::literal;
using compiler::Mesh;
using compiler::Program;
using compiler::reduce_sum;
using compiler::Shape;
using compiler::sharding_constraint;
using compiler::tanh;
using compiler::Tensor;
using compiler::while_loop;
namespace {

const Shape kRows{DType::f64, {8, 3}};

template <class T>
std::vector<std::byte> bytes_of(std::vector<T> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class Act>
std::string message(Act act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(HloText, FormatsTypesAndLists) {
  EXPECT_EQ(hlo_type({DType::f32, {8, 128}}), "tensor<8x128xf32>");
  EXPECT_EQ(hlo_type({DType::u64, {}}), "tensor<ui64>");
  EXPECT_EQ(hlo_dims({0, 1}), "array<i64: 0, 1>");
  EXPECT_EQ(hlo_dims({}), "array<i64>");
  EXPECT_EQ(hlo_list({2, 3}), "[2, 3]");
}

TEST(HloText, FormatsLiteralsExactly) {
  EXPECT_EQ(hlo_dense({DType::f32, {2}}, bytes_of<float>({0.1f, -0.0f})),
            "dense<[1.0e-01, -0.0e+00]> : tensor<2xf32>");
  EXPECT_EQ(hlo_dense({DType::f64, {4, 4}}, bytes_of<double>({1.0 / 3})),
            "dense<3.333333333333333e-01> : tensor<4x4xf64>");
  EXPECT_EQ(hlo_dense({DType::f32, {}}, bytes_of<float>({-INFINITY})),
            "dense<0xFF800000> : tensor<f32>");
  EXPECT_EQ(hlo_dense({DType::f64, {}}, bytes_of<double>({NAN})),
            "dense<0x7FF8000000000000> : tensor<f64>");
  EXPECT_EQ(hlo_dense({DType::bf16, {}}, bytes_of<std::uint16_t>({0x7F80})),
            "dense<0x7F80> : tensor<bf16>");
  EXPECT_EQ(hlo_dense({DType::u64, {2}}, bytes_of<std::uint64_t>({~0ull, 0})),
            "dense<[18446744073709551615, 0]> : tensor<2xui64>");
  EXPECT_EQ(hlo_dense({DType::s32, {0, 2}}, {}), "dense<> : tensor<0x2xi32>");
}

// The device reads back every bit of a literal, in all three text formats.
TEST(HloText, LiteralsReachTheDeviceUnchanged) {
  REQUIRE_PLUGIN("cpu");
  std::vector<std::uint32_t> few(64), many(1000);
  std::uint32_t bits = 1;
  for (auto* list : {&few, &many})
    for (std::uint32_t& x : *list) {
      bits = bits * 1664525 + 1013904223;
      const bool is_nan = std::isnan(std::bit_cast<float>(bits));
      x = is_nan ? 0x7F800000 : bits;
    }
  Program program;
  for (const auto& list : {few, many})
    program.results.push_back(bitcast_convert(
        literal(program.graph, {DType::f32, {static_cast<std::int64_t>(list.size())}},
                bytes_of(list)),
        DType::u32));
  const auto results = run_on_cpu(program, {});
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(results[0].bits[i], few[i]);
  for (std::size_t i = 0; i < many.size(); ++i) EXPECT_EQ(results[1].bits[i], many[i]);
}

TEST(HloModule, DeclaresDonatedAndUnusedArguments) {
  Program program;
  const Tensor x = program.graph.argument({DType::f32, {2}});
  program.graph.argument({DType::s32, {}});
  program.results = {x * x, x};
  program.donated_by = {0, -1};
  EXPECT_EQ(emit_module(program, "step"),
            "module @step {\n"
            "  func.func public @main(%arg0: tensor<2xf32> {tf.aliasing_output = 0 : i32}, "
            "%arg1: tensor<i32>) -> (tensor<2xf32>, tensor<2xf32>) {\n"
            "    %0 = \"stablehlo.multiply\"(%arg0, %arg0) : (tensor<2xf32>, tensor<2xf32>) -> "
            "tensor<2xf32>\n"
            "    \"func.return\"(%0, %arg0) : (tensor<2xf32>, tensor<2xf32>) -> ()\n"
            "  }\n"
            "}\n");
}

void build_sharded(Program& program) {
  const Tensor x = program.graph.argument(kRows), w = program.graph.argument({DType::f64, {3}});
  const Tensor y = sharding_constraint(tanh(x * w), {{"data"}, {}});
  program.results = {y, reduce_sum(y, {0, 1})};
  program.mesh = {{"data", 8}};
  program.argument_sharding = {{{{"data"}, {}}}, {}};
  program.result_sharding = {{{{"data"}, {}}}, {}};
}

TEST(HloModule, WritesMeshAndShardings) {
  Program program;
  build_sharded(program);
  const std::string text = emit_module(program, "step");
  for (const std::string_view part :
       {"module @step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {\n",
        "  sdy.mesh @mesh = <[\"data\"=8]>\n",
        "%arg0: tensor<8x3xf64> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>}, "
        "%arg1: tensor<3xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}]>})",
        "-> (tensor<8x3xf64> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>}, "
        "tensor<f64> {sdy.sharding = #sdy.sharding<@mesh, []>})",
        "\"sdy.sharding_constraint\"(%2) <{sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>}>"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST(HloModule, ComputesTheSameOnEightDevices) {
  REQUIRE_PLUGIN("cpu");
  Program program;
  build_sharded(program);
  const Value x = random_value({kRows, -1, 1}, 1), w = random_value({{DType::f64, {3}}, -1, 1}, 2);
  const auto want = interpret(program.graph, program.results, {x, w});
  std::vector<std::vector<Value>> arguments;
  for (std::int64_t device = 0; device < 8; ++device) {
    const auto row = x.real.begin() + 3 * device;
    arguments.push_back({{{DType::f64, {1, 3}}, {row, row + 3}, {}}, w});
  }
  const auto results = run_on_mesh(program, arguments);
  for (std::size_t device = 0; device < 8; ++device) {
    ASSERT_EQ(results[device][0].shape, (Shape{DType::f64, {1, 3}}));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(results[device][0].real[i], want[0].real[3 * device + i], 1e-14);
    EXPECT_NEAR(results[device][1].real[0], want[1].real[0], 1e-13);
  }
}

TEST(HloModule, WithoutAMeshHasNoShardings) {
  Program program;
  build_sharded(program);
  program.mesh.clear();
  EXPECT_EQ(emit_module(program, "step").find("sdy"), std::string::npos);
}

TEST(HloModule, IsDeterministic) {
  Program first, second;
  build_sharded(first);
  build_sharded(second);
  EXPECT_EQ(emit_module(first, "step"), emit_module(second, "step"));
  EXPECT_EQ(emit_module(first, "step"), emit_module(first, "step"));
}

TEST(HloModule, OmitsUnusedNodes) {
  Program program;
  const Tensor x = program.graph.argument({DType::f32, {2}});
  exp(x);
  program.results = {tanh(x)};
  EXPECT_EQ(emit_module(program, "m").find("exponential"), std::string::npos);
}

TEST(HloModule, RejectsInvalidDonations) {
  Program program;
  const Tensor x = program.graph.argument({DType::f32, {2}});
  program.results = {reduce_sum(x, {0}), x, x};
  program.donated_by = {0, -1, -1};
  EXPECT_EQ(message([&] { emit_module(program, "m"); }),
            "donation: result 0 is f32[], its donated argument 0 is f32[2]\n"
            "  hint: donate an argument of the same shape and type");
  program.donated_by = {-1, 0, 0};
  EXPECT_EQ(message([&] { emit_module(program, "m"); }),
            "donation: argument 0 is donated to two results\n  hint: donate each argument once");
  program.donated_by = {-1, 7, -1};
  EXPECT_THROW(emit_module(program, "m"), BugError);
}

TEST(HloModule, RejectsInvalidShardings) {
  const Mesh mesh{{"data", 8}};
  EXPECT_EQ(hlo_sharding({{"data", 2}, {"fsdp", 4}}, {{{"data", "fsdp"}, {}}}, kRows),
            "#sdy.sharding<@mesh, [{\"data\", \"fsdp\"}, {}]>");
  EXPECT_EQ(message([&] { hlo_sharding(mesh, {{{"data"}}}, kRows); }),
            "sharding: 1 entries for f64[8,3], expected 2\n  hint: name the mesh axes (or none) "
            "for each dimension");
  EXPECT_EQ(message([&] { hlo_sharding(mesh, {{{"model"}, {}}}, kRows); }),
            "sharding: the mesh has no axis 'model'\n  hint: use an axis of the program's mesh");
  EXPECT_EQ(message([&] { hlo_sharding(mesh, {{{}, {"data"}}}, kRows); }),
            "sharding: dimension 1 of f64[8,3] does not divide over 8 devices of axis 'data'\n"
            "  hint: choose a multiple of the number of devices");
}

// Nested regions: names do not clash, and the device matches the interpreter.
TEST(HloModule, EmitsNestedRegions) {
  Program program;
  const Tensor x = program.graph.argument({DType::f64, {4}});
  const auto below = [](double limit) {
    return [limit](Graph& g, std::span<const Tensor> in) {
      return std::vector{compare(in[0], constant(g, limit, DType::f64), Compare::lt)};
    };
  };
  program.results = while_loop({reduce_sum(x, {0}), x}, below(100), [&](Graph& g, auto in) {
    const auto inner = while_loop({in[0], in[1]}, below(50), [](Graph&, auto i) {
      return std::vector{i[0] + 7.0, i[1] * 1.5};
    });
    return std::vector{inner[0] + reduce_sum(inner[1] * inner[1], {0}) + constant(g, 1, DType::f64),
                       inner[1]};
  });
  const std::vector<Value> arguments{random_value({{DType::f64, {4}}, 0, 1}, 5)};
  const auto want = interpret(program.graph, program.results, arguments);
  REQUIRE_PLUGIN("cpu");
  const auto got = run_on_cpu(program, arguments);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 0; i < want[r].real.size(); ++i)
      EXPECT_NEAR(got[r].real[i], want[r].real[i], 1e-9 * std::fabs(want[r].real[i]));
}

}  // namespace
}  // namespace smelt::testing
