#include "evaluation/tracking/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/str.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::evaluation {
namespace {

using testing::SizeIs;

constexpr std::uint64_t kMost = 1000;

// Adds twenty events of at least 100 bytes. Returns the names of the files in order.
std::vector<std::string> files_of_twenty_events(const std::string& folder) {
  const std::string text(100, 'x');
  {
    EventLog log(folder, 1, kMost);
    for (std::int64_t step = 1; step <= 20; ++step)
      log.add(step, std::vector<io::NamedText>{{str("text/", step), text}});
  }
  return io::list_folder(folder);
}

TEST(EventLog, StartsAnotherFileOnAnObjectStoreWhenOneIsFull) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  const std::string folder = emulator.path("train");
  const auto names = files_of_twenty_events(folder);
  ASSERT_THAT(names, SizeIs(testing::Ge(2u)));
  std::string all;
  for (const std::string& name : names) {
    const std::string content = io::read_file(io::join_path(folder, name));
    EXPECT_LT(content.size(), kMost + 300);
    EXPECT_NE(content.find("brain.Event:2"), std::string::npos) << name;
    all += content;
  }
  std::size_t at = 0;
  for (int step = 1; step <= 20; ++step) {
    at = all.find(str("text/", step), at);
    EXPECT_NE(at, std::string::npos) << step;
  }
}

TEST(EventLog, WritesOneFileOnADisk) {
  const TempDir dir;
  EXPECT_THAT(files_of_twenty_events(dir.path()), SizeIs(1));
}

}  // namespace
}  // namespace smelt::evaluation
