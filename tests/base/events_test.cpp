// Events and the log file.
#include "base/events.h"

#include <gmock/gmock.h>
#include <spdlog/spdlog.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt {
namespace {

using testing::HasSubstr;

TEST(Events, AreSentOnlyWhileAReceiverExists) {
  std::vector<OrderedJson> received;
  send_event("before");
  {
    const EventReceiver receiver([&](const OrderedJson& event) { received.push_back(event); });
    send_event("stage", {{"stage", "text"}});
  }
  send_event("after");
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].at("event"), "stage");
  EXPECT_EQ(received[0].at("stage"), "text");
  EXPECT_GT(received[0].at("time").get<double>(), 1.7e9);
}

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

class LogFile : public testing::Test {
 protected:
  ~LogFile() override {
    set_up_log();
    spdlog::set_default_logger(before_);
  }
  // Logs with the options and returns what is written to standard error.
  std::string logged(const LogOptions& options) {
    testing::internal::CaptureStderr();
    set_up_log(options);
    log_debug("a");
    log_info("b");
    log_warning("c");
    Progress("train", 4, "steps", 1).line("step 1");
    return testing::internal::GetCapturedStderr();
  }
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  TempDir dir_;
};

TEST_F(LogFile, WritesDateTimeZoneAndLevelOfEachMessage) {
  const std::string path = dir_.file("run.log");
  logged({.file = path});
  const std::string stamp = "....-..-..T..:..:..[+-]..:?..";
  EXPECT_THAT(content(path), testing::MatchesRegex(stamp + " info: b\n" + stamp + " warning: c\n" +
                                                   stamp + " info: step 1\n"));
}

TEST_F(LogFile, GetsAllMessagesWhileStandardErrorIsQuiet) {
  const std::string path = dir_.file("run.log");
  const std::string shown = logged({.level = LogLevel::debug, .quiet = true, .file = path});
  EXPECT_THAT(shown, testing::MatchesRegex("..:..:.. warning: c\n"));
  EXPECT_THAT(content(path), HasSubstr(" debug: a\n"));
  EXPECT_THAT(content(path), HasSubstr(" info: step 1\n"));
}

TEST_F(LogFile, AppendsMessagesOfTheConfiguredLevelOnly) {
  const std::string path = dir_.file("run.log");
  logged({.level = LogLevel::warning, .file = path});
  logged({.level = LogLevel::warning, .file = path});
  EXPECT_THAT(content(path), testing::MatchesRegex("[^\n]* warning: c\n[^\n]* warning: c\n"));
}

TEST_F(LogFile, ReportsAFileThatCannotBeOpened) {
  std::ofstream(dir_.file("file")) << "";
  const std::string wrong = dir_.file("file") + "/run.log";
  EXPECT_THAT(error_of<UsageError>([&] { set_up_log({.file = wrong}); }),
              HasSubstr("--log-file " + wrong + ": cannot be opened: "));
}

}  // namespace
}  // namespace smelt
