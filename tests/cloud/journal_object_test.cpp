// Two processes that share a journal in a bucket of the emulator.
#include "cloud/journal_object.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "cloud/tpu_test.h"
#include "support/error_of.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"

namespace smelt::cloud {
namespace {

using testing::HasSubstr;

class JournalObjectTest : public TpuTest {
 protected:
  void SetUp() override {
    REQUIRE_ORACLE();
    emulator_.emplace();
    storage_.emplace("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", "http://" + emulator_->endpoint());
  }
  static std::string of(const std::string& owner, int step) {
    return Json{{"owner", owner}, {"step", step}}.dump(1) + "\n";
  }

  std::optional<GcsEmulator> emulator_;
  std::optional<ScopedVariable> storage_;
  JournalObject a_{api_, "gs://bucket/job"}, b_{api_, "gs://bucket/job"};
};

TEST_F(JournalObjectTest, OnlyOneOfTwoWritersCreatesTheJournal) {
  EXPECT_EQ(a_.read(), std::nullopt);
  EXPECT_EQ(b_.read(), std::nullopt);
  EXPECT_TRUE(a_.write(of("a", 1)));
  EXPECT_FALSE(b_.write(of("b", 1)));
  EXPECT_EQ(b_.read(), of("a", 1));
}

TEST_F(JournalObjectTest, TakeoverMakesTheOtherWriterFail) {
  EXPECT_TRUE(a_.write(of("a", 1)));
  EXPECT_TRUE(a_.write(of("a", 2)));
  EXPECT_EQ(b_.read(), of("a", 2));
  EXPECT_TRUE(b_.write(of("b", 2)));
  EXPECT_FALSE(a_.write(of("a", 3)));
  EXPECT_EQ(a_.read(), of("b", 2));
}

TEST_F(JournalObjectTest, ToleratesALostResponse) {
  emulator_->fault(R"([{"match": "POST /upload", "do": "cut answer"}])");
  EXPECT_TRUE(a_.write(of("a", 1)));
  EXPECT_TRUE(a_.write(of("a", 2)));
  EXPECT_EQ(b_.read(), of("a", 2));
}

TEST_F(JournalObjectTest, ReportsDeniedAccess) {
  emulator_->fault(R"([{"match": "GET /storage", "times": 9, "do": "status 403"}])");
  EXPECT_THAT(error_of<UsageError>([&] { (void)a_.read(); }),
              testing::AllOf(HasSubstr("gs://bucket/job/cloud-job.json: as the test wants it"),
                             HasSubstr("hint: smelt cloud doctor --bucket gs://bucket shows")));
}

}  // namespace
}  // namespace smelt::cloud
