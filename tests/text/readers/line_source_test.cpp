// Detection of file formats by name, and errors for unsupported files.
#include "text/readers/line_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "text/readers/lines.h"

namespace smelt::text {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(LineSource, ChecksTheNamesOfAllFilesBeforeReading) {
  const auto refusal = [](const std::string& last, const TextFormat& format = {}) {
    return error_of<UsageError>([&] { LineSource({"none.txt", last}, format, {}); });
  };
  EXPECT_THAT(refusal("a.json"), HasSubstr("a.json: JSON files are not supported"));
  EXPECT_THAT(refusal("a.JSON.GZ"), HasSubstr("a.JSON.GZ: JSON files are not supported"));
  EXPECT_THAT(refusal("a.txt.xz"), HasSubstr("a.txt.xz: xz files are not supported"));
  EXPECT_THAT(refusal("a.Zip", {.file = FileFormat::csv}),
              HasSubstr("a.Zip: zip files are not supported"));
}

TEST(LineSource, RejectsTarArchivesCompressedOrNot) {
  const TempDir dir;
  io::write_file(dir.file("a.txt"), "words\n");
  ASSERT_EQ(run_command(str("cd ", dir.path(), " && tar cf b.txt a.txt && gzip -k b.txt")).status,
            0);
  std::string line;
  for (const char* name : {"b.txt", "b.txt.gz"})
    EXPECT_THAT(error_of<UsageError>([&] { LineReader(dir.file(name)).next(line); }),
                HasSubstr(str(name, ": tar files are not supported\n  hint: decompress it")));
  EXPECT_THAT(error_of<UsageError>([&] { io::check_packing("a.tar"); }),
              HasSubstr("a.tar: tar files"));
}

TEST(LineSource, ReportsWhichFileIsBinary) {
  const TempDir dir;
  io::write_file(dir.file("a.txt"), "words\n");
  io::write_file(dir.file("b.txt"), std::string("x\ny\0\0z\n\0", 8));
  const auto read = [&](bool strict) {
    LineSource source({dir.file("a.txt"), dir.file("b.txt")}, {}, {.strict = strict});
    std::string line;
    while (source.next(line) != LineSource::Event::end) continue;
    source.faults().finish();
  };
  const CapturedLog log;
  read(false);
  EXPECT_THAT(log.text(), AllOf(HasSubstr("3 NUL bytes were left out, the first in "),
                                HasSubstr("b.txt:2: check that this is a text file")));
  EXPECT_THAT(error_of<UsageError>([&] { read(true); }),
              HasSubstr("b.txt:2: 2 NUL bytes in a text file\n"
                        "  hint: remove the file if it is not text"));
}

TEST(LineSource, RecognizesUpperCaseFileExtensions) {
  const TempDir dir;
  io::write_file(dir.file("A.JSONL"), "{\"text\": \"One.\"}\n");
  io::write_file(dir.file("A.CSV"), "text\nTwo.\n");
  LineSource source({dir.file("A.JSONL"), dir.file("A.CSV")}, {}, {});
  std::vector<std::string> lines;
  std::string line;
  for (LineSource::Event event; (event = source.next(line)) != LineSource::Event::end;)
    if (event == LineSource::Event::line) lines.push_back(line);
  EXPECT_THAT(lines, testing::ElementsAre("One.", "Two."));
  io::write_file(dir.file("A.TXT.GZ"), "no gzip");
  EXPECT_THAT(
      error_of<UsageError>([&] { LineReader(dir.file("A.TXT.GZ")); }),
      HasSubstr(
          "A.TXT.GZ: damaged or truncated gzip file: its first bytes are those of another format"));
}

TEST(LineReader, RejectsUtf16) {
  const TempDir dir;
  std::string line;
  for (const std::string& begin : {std::string("\xff\xfeO\0n\0", 6), std::string("\xfe\xff\0O", 4),
                                   std::string("O\0n\0", 4), std::string("\0O\0n", 4)}) {
    io::write_file(dir.file("a.txt"), begin);
    EXPECT_THAT(error_of<UsageError>([&] { LineReader(dir.file("a.txt")).next(line); }),
                AllOf(HasSubstr("a.txt: is UTF-16, not UTF-8"), HasSubstr("iconv -f utf-16")));
  }
  io::write_file(dir.file("a.txt"), std::string("O\0ne", 4));
  EXPECT_TRUE(LineReader(dir.file("a.txt")).next(line));
}

}  // namespace
}  // namespace smelt::text
