// The real CPU plugin: values, donation, eight devices, error messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "pjrt/executable.h"
#include "support/error_of.h"
#include "support/plugins.h"

#ifdef __SANITIZE_ADDRESS__
// One test requests more memory than exists; this must fail without ending the program.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif

namespace smelt::pjrt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CpuPlugin : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_PLUGIN("cpu"); }
};

constexpr const char* kAdd = R"(
module @add {
  func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %z = stablehlo.add %x, %y : tensor<2x3xf32>
    return %z : tensor<2x3xf32>
  }
})";

const compiler::Shape kShape{.dtype = compiler::DType::f32, .dims = {2, 3}};

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const SystemError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(CpuPlugin, AddsTwoArrays) {
  const auto client = open_device("cpu");
  EXPECT_EQ(client->platform_name(), "cpu");
  EXPECT_EQ(client->device_count(), 1);
  EXPECT_EQ(client->device_kind(), "cpu");
  const Executable add = client->compile(kAdd);
  EXPECT_EQ(add.result_count(), 1u);
  const Buffer x = to_device<float>(*client, {1, 2, 3, 4, 5, 6}, kShape);
  const Buffer y = to_device<float>(*client, {10, 20, 30, 40, 50, 60}, kShape);
  const Execution run = add.execute({{&x, &y}});
  run.await();
  EXPECT_EQ(run.results[0][0].shape(), kShape);
  EXPECT_THAT(run.results[0][0].to_host<float>(), ElementsAre(11, 22, 33, 44, 55, 66));
  EXPECT_FALSE(x.deleted());
}

TEST_F(CpuPlugin, RejectsTooManyDevices) {
  EXPECT_THAT(error_of<UsageError>([] { open_device("cpu", 1000); }),
              HasSubstr("device cpu: 1000 devices requested, the maximum is 256"));
}

TEST_F(CpuPlugin, CopiesEveryElementTypeToTheDeviceAndBack) {
  const auto client = open_device("cpu");
  for (const compiler::DType dtype :
       {compiler::DType::pred, compiler::DType::s8, compiler::DType::s32, compiler::DType::s64,
        compiler::DType::u8, compiler::DType::u16, compiler::DType::u32, compiler::DType::u64,
        compiler::DType::bf16, compiler::DType::f16, compiler::DType::f32, compiler::DType::f64}) {
    const compiler::Shape shape{.dtype = dtype, .dims = {3, 1, 5}};
    std::vector<std::byte> in(shape.size_bytes());
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = std::byte(dtype == compiler::DType::pred ? i % 2 : i);
    const Buffer buffer = client->to_device(in, shape);
    std::vector<std::byte> out(in.size());
    buffer.copy_to_host(out);
    EXPECT_EQ(buffer.shape(), shape);
    EXPECT_EQ(in, out) << shape;
  }
}

TEST_F(CpuPlugin, CopiesScalarsAndEmptyArrays) {
  const auto client = open_device("cpu");
  EXPECT_THAT(
      to_device<float>(*client, {7}, {.dtype = compiler::DType::f32, .dims = {}}).to_host<float>(),
      ElementsAre(7));
  EXPECT_THAT(to_device<float>(*client, {}, {.dtype = compiler::DType::f32, .dims = {0, 4}})
                  .to_host<float>(),
              ElementsAre());
}

TEST_F(CpuPlugin, StartsAProgramWhenThePreviousOneHasEnded) {
  const auto client = open_device("cpu");
  const Executable product = client->compile(R"(
module @product {
  func.func public @main(%x: tensor<1000x1000xf32>) -> tensor<1000x1000xf32> {
    %y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
    %z = stablehlo.dot_general %y, %y, contracting_dims = [1] x [0] : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
    return %z : tensor<1000x1000xf32>
  }
})");
  const Buffer x = to_device<float>(*client, std::vector<float>(1'000'000, 1e-3f),
                                    {.dtype = compiler::DType::f32, .dims = {1000, 1000}});
  const Execution first = product.execute({{&x}});
  const Execution second = product.execute({{&x}});
  EXPECT_TRUE(first.ended());
  EXPECT_NEAR(second.results[0][0].to_host<float>()[0], 1e-3f, 1e-6f);
}

TEST_F(CpuPlugin, ConsumesOnlyDonatedArguments) {
  const auto client = open_device("cpu");
  const Executable add = client->compile(R"(
module @add {
  func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>)
      -> tensor<4xf32> {
    %z = stablehlo.add %x, %y : tensor<4xf32>
    return %z : tensor<4xf32>
  }
})");
  EXPECT_EQ(add.program().memory().alias_bytes, 16);
  const compiler::Shape shape{.dtype = compiler::DType::f32, .dims = {4}};
  Buffer x = to_device<float>(*client, {0, 0, 0, 0}, shape);
  const Buffer y = to_device<float>(*client, {1, 2, 3, 4}, shape);
  for (int step = 0; step < 10; ++step) {
    Execution run = add.execute({{&x, &y}});
    EXPECT_TRUE(x.deleted());
    EXPECT_THAT(message_of([&] { add.execute({{&x, &y}}); }),
                HasSubstr("PJRT_LoadedExecutable_Execute"));
    x = std::move(run.results[0][0]);
  }
  EXPECT_FALSE(y.deleted());
  EXPECT_THAT(x.to_host<float>(), ElementsAre(10, 20, 30, 40));
}

// Asynchronous checkpoints rely on this.
TEST_F(CpuPlugin, FinishesAHostCopyBeforeOverwritingADonatedArgument) {
  const auto client = open_device("cpu");
  const Executable next = client->compile(R"(
module @next {
  func.func public @main(%x: tensor<4194304xf32> {tf.aliasing_output = 0 : i32})
      -> tensor<4194304xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<4194304xf32>
    %y = stablehlo.add %x, %one : tensor<4194304xf32>
    return %y : tensor<4194304xf32>
  }
})");
  const std::size_t size = 4194304;
  Buffer x = to_device<float>(*client, std::vector<float>(size, 0),
                              {.dtype = compiler::DType::f32, .dims = {4194304}});
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<float>> copies(8, std::vector<float>(size));
    std::vector<Event> copied;
    for (auto& copy : copies) {
      copied.push_back(x.start_copy_to_host(std::as_writable_bytes(std::span(copy))));
      for (int step = 0; step < 2; ++step) x = std::move(next.execute({{&x}}).results[0][0]);
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
      copied[i].await();
      const float want = static_cast<float>(16 * round + 2 * static_cast<int>(i));
      EXPECT_TRUE(copies[i] == std::vector<float>(size, want)) << round << " " << i;
    }
  }
}

TEST_F(CpuPlugin, RunsAShardedProgramOnEightDevices) {
  const auto client = open_device("cpu", 8);
  ASSERT_EQ(client->device_count(), 8);
  const Executable total = client->compile(
      R"(
module @total {
  sdy.mesh @mesh = <["data"=8]>
  func.func public @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>})
      -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>},
          tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %all = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %share = stablehlo.divide %x, %all : tensor<16xf32>
    return %sum, %share : tensor<f32>, tensor<16xf32>
  }
})",
      {.num_replicas = 1, .num_partitions = 8, .use_shardy = true, .overrides = {}});
  EXPECT_EQ(total.device_count(), 8u);
  std::vector<Buffer> parts;
  for (int device = 0; device < 8; ++device) {
    const float first = static_cast<float>(2 * device);
    parts.push_back(to_device<float>(*client, {first, first + 1},
                                     {.dtype = compiler::DType::f32, .dims = {2}}, device));
  }
  std::vector<std::vector<const Buffer*>> arguments;
  for (const Buffer& part : parts) arguments.push_back({&part});
  const Execution run = total.execute(arguments);
  run.await();
  for (int device = 0; device < 8; ++device) {
    EXPECT_THAT(run.results[device][0].to_host<float>(), ElementsAre(120));
    EXPECT_EQ(run.results[device][1].shape(),
              (compiler::Shape{.dtype = compiler::DType::f32, .dims = {2}}));
    EXPECT_THAT(run.results[device][1].to_host<float>(),
                ElementsAre(2.0f * device / 120, (2.0f * device + 1) / 120));
  }
}

TEST_F(CpuPlugin, ResultsOutliveTheirExecutableAndArguments) {
  std::vector<std::vector<Buffer>> results;
  {
    const auto client = open_device("cpu");
    const Buffer x = to_device<float>(*client, {1, 2, 3, 4, 5, 6}, kShape);
    results = std::move(client->compile(kAdd).execute({{&x, &x}}).results);
  }
  EXPECT_THAT(results[0][0].to_host<float>(), ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST_F(CpuPlugin, ReportsTheCompilersMessage) {
  const auto client = open_device("cpu");
  EXPECT_THAT(message_of([&] { client->compile("module { func.func public @main( }"); }),
              HasSubstr("PJRT_Client_Compile: "));
  EXPECT_THAT(message_of([&] {
                client->compile(kAdd, {.num_replicas = 1,
                                       .num_partitions = 1,
                                       .use_shardy = true,
                                       .overrides = {{"xla_no_such_option", "true"}}});
              }),
              HasSubstr("xla_no_such_option"));
}

TEST_F(CpuPlugin, RejectsArgumentsOfTheWrongShape) {
  const auto client = open_device("cpu");
  const Executable add = client->compile(kAdd);
  const Buffer x = to_device<float>(*client, {1, 2}, {.dtype = compiler::DType::f32, .dims = {2}});
  EXPECT_THAT(message_of([&] { add.execute({{&x, &x}}).await(); }),
              HasSubstr("PJRT_LoadedExecutable_Execute: "));
}

TEST_F(CpuPlugin, ReportsTheRequestedBytesIfMemoryRunsOut) {
  const auto client = open_device("cpu");
  // 256 TiB: larger than the address space.
  const Executable large = client->compile(R"(
module @large {
  func.func public @main(%x: tensor<f32>) -> tensor<70368744177664xf32> {
    %y = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<70368744177664xf32>
    return %y : tensor<70368744177664xf32>
  }
})");
  const Buffer x = to_device<float>(*client, {1}, {.dtype = compiler::DType::f32, .dims = {}});
  EXPECT_THAT(message_of([&] { large.execute({{&x}}).await(); }),
              HasSubstr("Out of memory allocating 281474976710656 bytes"));
}

TEST_F(CpuPlugin, AppliesDebugOptionsToOneCompilation) {
  const auto client = open_device("cpu");
  const Executable add =
      client->compile(kAdd, {.num_replicas = 1,
                             .num_partitions = 1,
                             .use_shardy = true,
                             .overrides = {{"xla_cpu_enable_fast_math", "true"}}});
  const Buffer x = to_device<float>(*client, {1, 2, 3, 4, 5, 6}, kShape);
  EXPECT_THAT(add.execute({{&x, &x}}).results[0][0].to_host<float>(),
              ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST_F(CpuPlugin, RunsASerializedProgram) {
  const auto client = open_device("cpu");
  const std::string serialized = client->compile(kAdd).program().serialize();
  const Executable add = client->load(serialized);
  const Buffer x = to_device<float>(*client, {1, 2, 3, 4, 5, 6}, kShape);
  EXPECT_THAT(add.execute({{&x, &x}}).results[0][0].to_host<float>(),
              ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST_F(CpuPlugin, ReportsTheCostOfAProgram) {
  const auto client = open_device("cpu");
  const auto cost = client->compile(kAdd).program().cost();
  EXPECT_EQ(cost.at("flops"), 6);
}

}  // namespace
}  // namespace smelt::pjrt
