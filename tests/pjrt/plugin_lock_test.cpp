#include "pjrt/plugin_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_of.h"

namespace smelt::pjrt {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(PluginLock, ParsesOneWheelPerPackage) {
  const auto wheels = parse_plugin_lock(
      "# made by a tool\nlib-a==1.2 \\\n    --hash=sha256:00\n    # via x\nlib-b==3 ; linux \\\n   "
      " "
      "--hash=sha256:11\n",
      "lib-b 3 30 40\nlib-a 1.2 10 20\nother 1 1 1\n");
  ASSERT_EQ(wheels.size(), 2u);
  EXPECT_EQ(wheels[0].name, "lib-a");
  EXPECT_EQ(wheels[0].version, "1.2");
  EXPECT_EQ(wheels[0].requirement, "lib-a==1.2 \\\n    --hash=sha256:00\n    # via x\n");
  EXPECT_EQ(wheels[0].download_bytes, 10);
  EXPECT_EQ(wheels[1].requirement, "lib-b==3 ; linux \\\n    --hash=sha256:11\n");
  EXPECT_EQ(wheels[1].unpacked_bytes, 40);
}

TEST(PluginLock, RequiresASizeForEveryPackage) {
  EXPECT_THROW(parse_plugin_lock("lib-a==1.2\n", "lib-a 1.3 10 20\n"), BugError);
}

TEST(PluginLock, BuiltInLocksHaveHashesAndSizes) {
  for (const char* device : {"gpu", "tpu"}) {
    const auto wheels = plugin_wheels(device);
    EXPECT_FALSE(wheels.empty());
    for (const Wheel& wheel : wheels) {
      EXPECT_THAT(wheel.requirement, HasSubstr("--hash=sha256:")) << wheel.name;
      EXPECT_GT(wheel.unpacked_bytes, wheel.download_bytes) << wheel.name;
    }
  }
}

TEST(PluginLock, RejectsUnknownDevices) {
  EXPECT_THAT(error_of<UsageError>([] { plugin_wheels("gpx"); }),
              AllOf(StartsWith("setup: unknown device 'gpx', expected gpu or tpu"),
                    HasSubstr("did you mean 'gpu'?")));
}

}  // namespace
}  // namespace smelt::pjrt
