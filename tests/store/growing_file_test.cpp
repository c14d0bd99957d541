#include "store/growing_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/file.h"
#include "support/error_of.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt {
namespace {

void expect_growth(const std::string& path) {
  GrowingFile file(path);
  std::string whole;
  for (const std::string_view piece : {"one", "", " two"}) {
    file.add(piece);
    whole += piece;
    EXPECT_EQ(read_file(path), whole);
  }
  EXPECT_THAT(error_of([&] { GrowingFile(path).add("x"); }),
              testing::HasSubstr("is there already\n  hint: choose another name"));
}

TEST(GrowingFile, IsReadableAfterEachAddition) {
  const TempDir dir;
  expect_growth(dir.file("a/b/log"));
}

TEST(GrowingFile, IsWrittenAnewOnAnObjectStore) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  expect_growth(emulator.path("logs/log"));
}

}  // namespace
}  // namespace smelt
