// Runs that are killed at random times give the same result as uninterrupted runs. They use a local
// disk with one device, with eight devices and with two that split the model, and a bucket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/oracle.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

TEST(KillRuns, GiveTheSameResultAfterEightKills) {
  REQUIRE_PLUGIN("cpu");
  REQUIRE_ORACLE();
  const CommandOutput output = run_oracle(str(source_path("tools/kill_runs.py"), " --smelt ",
                                              smelt_program(), " --kills 8 --set train.steps=40"));
  EXPECT_EQ(output.status, 0) << output.text;
  for (const char* place : {"/one: killed 2 times", "/eight: killed 2 times",
                            "/mesh: killed 2 times", "run: killed 2 times"})
    EXPECT_THAT(output.text, testing::HasSubstr(place));
}

}  // namespace
}  // namespace smelt::cli
