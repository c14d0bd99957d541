// Reading several files in parallel gives the same results and errors as reading them one after
// another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "text/readers/documents.h"

namespace smelt::text {
namespace {

TEST(FilePrefetcher, ReportsAnUnreadableFileBeforeABlockedPipe) {
  const TempDir dir;
  io::write_file(dir.file("bad.parquet"), "no Parquet at all");
  ASSERT_EQ(::mkfifo(dir.file("pipe").c_str(), 0600), 0);
  for (const int threads : {1, 4}) {
    DocumentOptions options;
    options.input = dir.file("bad.parquet") + "," + dir.file("pipe");
    options.threads = threads;
    EXPECT_THAT(error_of([&] {
                  DocumentReader reader(options);
                  Document document;
                  while (reader.next(document)) {
                  }
                }),
                testing::HasSubstr("bad.parquet"));
  }
}

}  // namespace
}  // namespace smelt::text
