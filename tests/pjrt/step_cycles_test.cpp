// libtpu's estimates: loops count once per iteration, and clock rates follow from the published
// peaks.
#include "pjrt/step_cycles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "pjrt/device_specs.h"
#include "pjrt/topology.h"
#include "support/error_of.h"
#include "support/plugins.h"

namespace smelt::pjrt {
namespace {

using testing::HasSubstr;

// A program that repeats x = tanh(x x).
std::string products(int iterations) {
  return str(R"(module @loop {
  func.func public @main(%x: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %count = stablehlo.constant dense<)",
             iterations, R"(> : tensor<i32>
    %out:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<1024x1024xbf16>
      cond {
        %more = stablehlo.compare LT, %i, %count : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %next = stablehlo.add %i, %one : tensor<i32>
        %z = stablehlo.dot_general %y, %y, contracting_dims = [1] x [0] :
            (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
        %w = stablehlo.tanh %z : tensor<1024x1024xbf16>
        stablehlo.return %next, %w : tensor<i32>, tensor<1024x1024xbf16>
      }
    return %out#1 : tensor<1024x1024xbf16>
  }
}
)");
}

TEST(StepCycles, MultipliesTheLoopBodyByItsTripCount) {
  REQUIRE_PLUGIN("tpu");
  const Topology topology = Topology::tpu("v5e:1x1");
  const auto cycles = [&](int iterations) {
    const CompiledProgram program = topology.compile(products(iterations), {});
    return step_cycles(read_hlo_module(program.optimized_module()));
  };
  const StepCycles ten = cycles(10), thirty = cycles(30);
  ASSERT_FALSE(thirty.instructions.empty());
  EXPECT_EQ(thirty.instructions.front().runs, 30);
  EXPECT_GE(thirty.instructions.front().bytes, 30.0 * 2 * 2 * 1024 * 1024);
  EXPECT_NEAR(thirty.total / ten.total, 3, 0.1);
  const double least = 30 * 2.0 * 1024 * 1024 * 1024 / cycle_flops("TPU v5 lite");
  EXPECT_GT(thirty.total, least);
  EXPECT_LT(thirty.total, 3 * least);
  EXPECT_TRUE(thirty.collectives.empty());
}

TEST(StepCycles, ConvertsCyclesAtTheClockOfThePublishedPeak) {
  EXPECT_NEAR(1e9 * seconds_of(1, "TPU v5 lite"), 1 / 1.503, 1e-3);
  EXPECT_NEAR(1e9 * seconds_of(1, "TPU v2"), 1 / 0.6866, 1e-3);
  EXPECT_EQ(seconds_of(1, "cpu"), 0);
}

TEST(StepCycles, CountsBytesSentByCollectivesAndTheirAxes) {
  const compiler::Mesh mesh{{"data", 2}, {"fsdp", 3}, {"tensor", 4}};
  const auto axes = [&](std::vector<std::int64_t> group) { return axes_of(mesh, group); };
  EXPECT_EQ(axes({0, 1, 2, 3}), "tensor");
  EXPECT_EQ(axes({5, 9, 1}), "fsdp");
  EXPECT_EQ(axes({7, 19}), "data");
  EXPECT_EQ(axes({0, 4, 8, 12, 16, 20}), "data+fsdp");
  EXPECT_EQ(axes({3}), "");
  CollectiveBytes c{.opcode = "all-reduce", .bytes = 80, .group = {0, 1, 2, 3}};
  EXPECT_EQ(sent_bytes(c, 24), 2 * 60);
  c.opcode = "all-gather";
  EXPECT_EQ(sent_bytes(c, 24), 60);
  c.group.clear();
  EXPECT_EQ(sent_bytes(c, 8), 70) << "all devices";
  c.opcode = "collective-permute";
  EXPECT_EQ(sent_bytes(c, 8), 80);
}

// A collective of f32 arrays with these numbers of elements; operand 1 is a parameter of 8
// elements.
StepCycles with_collective(const std::string& opcode, const std::vector<std::int64_t>& results) {
  HloInstruction input, collective;
  input.opcode = "parameter";
  input.id = 1;
  input.results = {{.dims = {8}, .dtype = "f32"}};
  collective.opcode = opcode;
  collective.id = 2;
  collective.operands = {1};
  for (const std::int64_t n : results) collective.results.push_back({.dims = {n}, .dtype = "f32"});
  HloModule module;
  module.computations[0].instructions = {input, collective};
  return step_cycles(module);
}

TEST(StepCycles, CountsTheBytesOfStartedAndScatteredCollectives) {
  const auto bytes = [](const std::string& opcode, const std::vector<std::int64_t>& results) {
    const StepCycles cycles = with_collective(opcode, results);
    EXPECT_EQ(cycles.collectives.size(), 1U);
    return cycles.collectives.at(0).bytes;
  };
  EXPECT_EQ(bytes("reduce-scatter", {2}), 32) << "the input";
  EXPECT_EQ(bytes("all-gather", {32}), 128);
  EXPECT_EQ(bytes("all-gather-start", {8, 32}), 128) << "without the input";
  EXPECT_EQ(bytes("all-reduce-start", {8}), 32);
  EXPECT_EQ(bytes("collective-permute-start", {8, 8, 1, 1}), 32);
}

TEST(StepCycles, RejectsBytesWithoutAModule) {
  EXPECT_THAT(error_of<UsageError>([] { read_hlo_module(""); }),
              HasSubstr("HloModuleProto: found no module in 0 bytes"));
  EXPECT_THAT(error_of<UsageError>([] { read_hlo_module("\x0a\x05\x01"); }),
              HasSubstr("HloModuleProto"));
  HloModule none;
  EXPECT_THAT(error_of<UsageError>([&] { step_cycles(none); }),
              HasSubstr("computation 0 is called but missing"));
}

}  // namespace
}  // namespace smelt::pjrt
