#include "io/filesystem/growing_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void expect_growth(const std::string& path) {
  GrowingFile file(path);
  std::string whole;
  for (const std::string_view piece : {"one", "", " two"}) {
    file.add(piece);
    file.flush();
    whole += piece;
    EXPECT_EQ(read_file(path), whole);
  }
  EXPECT_THAT(error_of([&] { GrowingFile(path).add("x"); }),
              HasSubstr("exists already\n  hint: choose another name"));
}

TEST(GrowingFile, IsReadableAfterEachAppend) {
  const TempDir dir;
  expect_growth(dir.file("a/b/log"));
}

TEST(GrowingFile, RewritesTheObjectAfterEachAppend) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  expect_growth(emulator.path("logs/log"));
}

TEST(GrowingFile, WritesTheRemainingBytesOfAnObjectAtTheEnd) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  const std::string path = emulator.path("log");
  {
    GrowingFile file(path, "one");
    file.write_objects_every(1000);
    for (int i = 0; i < 100; ++i) file.add(".");
    EXPECT_EQ(read_file(path), "one");
  }
  EXPECT_EQ(read_file(path), "one" + std::string(100, '.'));
}

TEST(GrowingFile, RetriesLaterIfTheStoreDeniesAWrite) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  const CapturedLog log;
  const std::string path = emulator.path("log");
  GrowingFile file(path);
  emulator.fault(R"([{"match": "POST /upload", "do": "status 403", "times": 99}])");
  file.add("one");
  while (log.text().empty()) std::this_thread::yield();
  EXPECT_THAT(error_of([&] { file.flush(); }), HasSubstr("permission storage.objects.create"));
  emulator.fault("[]");
  file.add(" two");
  file.flush();
  EXPECT_EQ(read_file(path), "one two");
  EXPECT_THAT(log.text(), AllOf(HasSubstr("permission storage.objects.create"),
                                HasSubstr(path + " will be written again later")));
}

TEST(GrowingFile, RewritesAlsoThePreviousObjectAfterADeniedWrite) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  const CapturedLog log;
  const std::string first = emulator.path("log"), second = emulator.path("log2");
  GrowingFile file(first, "one");
  file.write_objects_every(1000);
  emulator.fault(R"([{"match": "POST /upload", "do": "status 403", "times": 99}])");
  file.add(" two");
  file.continue_in(second);
  EXPECT_THAT(error_of([&] { file.flush(); }), HasSubstr("permission storage.objects.create"));
  emulator.fault("[]");
  file.add("three");
  file.flush();
  EXPECT_EQ(read_file(first), "one two");
  EXPECT_EQ(read_file(second), "three");
}

TEST(GrowingFile, ReportsAnIncompleteObjectAtTheEndWithTheReason) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  const CapturedLog log;
  const std::string path = emulator.path("log");
  {
    GrowingFile file(path, "one");
    emulator.fault(R"([{"match": "POST /upload", "do": "status 403", "times": 99}])");
    file.add(" two");
  }
  EXPECT_THAT(log.text(), AllOf(HasSubstr("permission storage.objects.create"),
                                HasSubstr(path + " is incomplete: its last bytes were not written"),
                                Not(HasSubstr("written again later"))));
}

}  // namespace
}  // namespace smelt::io
