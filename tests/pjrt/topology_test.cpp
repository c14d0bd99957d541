// Compiles for TPUs with libtpu on a machine without TPUs.
#include "pjrt/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/plugins.h"

namespace smelt::pjrt {
namespace {

using testing::HasSubstr;

class Libtpu : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_PLUGIN("tpu"); }
};

// `x` is sharded by rows over the mesh and donated to the result.
std::string scale_program(int devices, int rows) {
  return str("module @scale {\n  sdy.mesh @mesh = <[\"data\"=", devices, "]>\n",
             "  func.func public @main(%x: tensor<", rows, "x1024xf32> {sdy.sharding = ",
             "#sdy.sharding<@mesh, [{\"data\"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<",
             rows, "x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>}) {\n",
             "    %y = stablehlo.add %x, %x : tensor<", rows, "x1024xf32>\n",
             "    return %y : tensor<", rows, "x1024xf32>\n  }\n}\n");
}

CompileOptions split_over(int devices) {
  return {.num_replicas = 1, .num_partitions = devices, .use_shardy = true, .overrides = {}};
}

void expect_scale_compiles(const std::string& name, int devices, std::string_view kind) {
  const Topology topology = Topology::tpu(name);
  EXPECT_EQ(topology.device_count(), devices);
  EXPECT_EQ(topology.device_kind(), kind);
  const CompiledProgram program =
      topology.compile(scale_program(devices, 1024), split_over(devices));
  EXPECT_EQ(program.result_count(), 1u);
  const CompiledMemory memory = program.memory();
  const std::int64_t part_bytes = 1024 * 1024 * 4 / devices;
  EXPECT_EQ(memory.argument_bytes, part_bytes);
  EXPECT_EQ(memory.output_bytes, part_bytes);
  EXPECT_EQ(memory.alias_bytes, part_bytes);
  EXPECT_EQ(program.cost().at("flops"), 1024.0 * 1024.0 / devices);
  EXPECT_GT(program.serialize().size(), 1000u);
}

TEST_F(Libtpu, CompilesForEightCoresOfTpuV2) { expect_scale_compiles("v2:2x2", 8, "TPU v2"); }

TEST_F(Libtpu, CompilesForEightChipsOfTpuV5e) {
  expect_scale_compiles("v5e:2x4", 8, "TPU v5 lite");
}

TEST_F(Libtpu, CompilesForAChipOfTpuV4AsOneDevice) {
  expect_scale_compiles("v4:2x2x1", 4, "TPU v4");
}

// The devices of four hosts of a v2-32: two rows of each.
TEST_F(Libtpu, NumbersDevicesByHostAndCompilesForFourHosts) {
  std::vector<int> want;
  for (const int first : {0, 4, 16, 20})
    for (const int row : {0, 8})
      for (int device = 0; device < 4; ++device) want.push_back(first + row + device);
  EXPECT_EQ(Topology::tpu("v2:4x4").device_ids(), want);
  expect_scale_compiles("v2:4x4", 32, "TPU v2");
}

TEST_F(Libtpu, ReportsThatAProgramIsTooLarge) {
  const Topology topology = Topology::tpu("v2:1x1");
  try {
    topology.compile(scale_program(2, 16 * 1024 * 1024), split_over(2));
    FAIL();
  } catch (const PjrtError& error) {
    EXPECT_EQ(error.code(), pjrt_abi::ErrorCode::resource_exhausted);
    EXPECT_THAT(error.what(), HasSubstr("PJRT_Compile: "));
    EXPECT_THAT(error.what(), HasSubstr("exceeds available HBM"));
  }
}

TEST_F(Libtpu, RejectsAnUnknownTopology) {
  try {
    Topology::tpu("v2:no");
    FAIL();
  } catch (const PjrtError& error) {
    EXPECT_THAT(error.what(), HasSubstr("PJRT_TopologyDescription_Create: "));
  }
}

}  // namespace
}  // namespace smelt::pjrt
