// The real CPU plugin: values, donation, eight devices, errors that come late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "runtime/executable.h"
#include "runtime/find_plugin.h"

namespace smelt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CpuPlugin : public testing::Test {
 protected:
  void SetUp() override {
    try {
      find_plugin("cpu");
    } catch (const UsageError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

constexpr const char* kAdd = R"(
module @add {
  func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %z = stablehlo.add %x, %y : tensor<2x3xf32>
    return %z : tensor<2x3xf32>
  }
})";

const Shape kShape{.dtype = DType::f32, .dims = {2, 3}};

TEST_F(CpuPlugin, AddsTwoArrays) {
  const auto client = open_device("cpu");
  EXPECT_EQ(client->platform_name(), "cpu");
  EXPECT_EQ(client->device_count(), 1);
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

}  // namespace
}  // namespace smelt
