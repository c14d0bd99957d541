// A test whose requirement is missing is skipped, or fails if SMELT_REQUIRE names the requirement.
#include "support/missing.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/environment.h"
#include "support/error_of.h"

namespace smelt {
namespace {

using testing::HasSubstr;
using testing::TestPartResult;

// Returns the result of a test without the oracle.
TestPartResult without_oracle() {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(&results);
    [] { SKIP_OR_FAIL_WITHOUT("oracle", "no Python"); }();
  }
  EXPECT_EQ(results.size(), 1);
  return results.GetTestPartResult(0);
}

TEST(MissingRequirement, SkipsATestThatIsNotRequired) {
  const ScopedVariable none("SMELT_REQUIRE");
  EXPECT_EQ(without_oracle().type(), TestPartResult::kSkip);
  const ScopedVariable others("SMELT_REQUIRE", "cpu,tpu");
  EXPECT_EQ(without_oracle().type(), TestPartResult::kSkip);
  EXPECT_THAT(without_oracle().message(), HasSubstr("no 'oracle': no Python"));
}

TEST(MissingRequirement, FailsARequiredTest) {
  const ScopedVariable require("SMELT_REQUIRE", "cpu,oracle");
  EXPECT_EQ(without_oracle().type(), TestPartResult::kFatalFailure);
  EXPECT_THAT(without_oracle().message(), HasSubstr("no 'oracle': no Python"));
}

TEST(MissingRequirement, RejectsAnUnknownRequirement) {
  const ScopedVariable require("SMELT_REQUIRE", "cpu,oracles");
  EXPECT_THAT(error_of<UsageError>([] { is_required("cpu"); }),
              HasSubstr("SMELT_REQUIRE=cpu,oracles: nothing is called 'oracles'"));
}

}  // namespace
}  // namespace smelt
