#include "io/formats/tfrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "io/formats/crc32c.h"
#include "support/hex.h"

namespace smelt::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

// Written by TensorFlow 2.21's TFRecordWriter: "hello", "", "smelt".
const std::string kFile = from_hex(
    "0500000000000000eab2043e68656c6c6fbb1f1c19000000000000000029039807d8ea82a2"
    "0500000000000000eab2043e736d656c74e1df6928");

std::vector<std::string> read_all(std::string_view bytes) {
  std::vector<std::string> records;
  RecordReader reader(bytes, "train.tfrecord");
  while (const auto record = reader.next()) records.emplace_back(*record);
  return records;
}

std::string record_error(std::string_view bytes) {
  try {
    read_all(bytes);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(TfRecord, WritesTheSameBytesAsTensorFlow) {
  std::string file;
  for (const std::string_view record : {"hello", "", "smelt"}) append_record(file, record);
  EXPECT_EQ(file, kFile);
}

TEST(TfRecord, ReadsAFileWrittenByTensorFlow) {
  EXPECT_THAT(read_all(kFile), ElementsAre("hello", "", "smelt"));
  EXPECT_THAT(read_all(""), ElementsAre());
}

TEST(TfRecord, RejectsEveryChangedByteWithTheRecordsOffset) {
  for (std::size_t at = 0; at < kFile.size(); ++at) {
    const std::size_t start = at < 21 ? 0 : at < 37 ? 21 : 37;
    for (int bit = 0; bit < 8; ++bit) {
      std::string broken = kFile;
      broken[at] = static_cast<char>(broken[at] ^ (1 << bit));
      EXPECT_THAT(record_error(broken),
                  HasSubstr(str("train.tfrecord: record at offset ", start, ": ")))
          << at;
    }
  }
}

TEST(TfRecord, RejectsEveryTruncationInsideARecord) {
  for (std::size_t size = 0; size < kFile.size(); ++size) {
    const std::string message = record_error(std::string_view(kFile).substr(0, size));
    if (size == 0 || size == 21 || size == 37)
      EXPECT_EQ(message, "") << size;
    else
      EXPECT_THAT(message, HasSubstr("truncated: ")) << size;
  }
}

TEST(TfRecord, ReportsExpectedAndFoundChecksumsAndLengths) {
  std::string broken = kFile;
  broken[12] = 'j';
  EXPECT_THAT(record_error(broken), HasSubstr("data checksum 0x"));
  EXPECT_THAT(record_error(broken), HasSubstr(" expected 0x191c1fbb"));
  EXPECT_THAT(record_error(kFile.substr(0, 20)),
              HasSubstr("expected 5 bytes of data and 4 bytes of checksum, found 8"));
  EXPECT_THAT(record_error(kFile.substr(0, 5)), HasSubstr("expected 12 bytes of header, found 5"));
}

TEST(TfRecord, ReportsATextFile) {
  for (const char* text : {"A", "The first line.\n", "\n\n", "Überall stehen Häuser."})
    EXPECT_EQ(
        record_error(text),
        "train.tfrecord: is text, not TFRecord\n  hint: `smelt data` and `smelt electra build_…` "
        "convert text to records; give the records");
}

TEST(TfRecord, ReportsACompressedFileWithTheCommandToDecompressIt) {
  const std::string rest(20, '\x01');
  EXPECT_EQ(record_error("\x1f\x8b\x08" + rest),
            "train.tfrecord: is compressed, but records must not be compressed\n  hint: decompress "
            "it: `gunzip "
            "train.tfrecord`");
  EXPECT_THAT(record_error("\x28\xb5\x2f\xfd" + rest), HasSubstr("`unzstd train.tfrecord`"));
  EXPECT_THAT(record_error("BZh9" + rest), HasSubstr("`bunzip2 train.tfrecord`"));
  EXPECT_THAT(record_error("\x1f\x8b\x09" + rest), HasSubstr("length checksum"));
}

TEST(TfRecord, ReportsTruncationForAHugeLengthWithoutOverflow) {
  std::string file(8, '\xFF');
  const std::uint32_t crc = mask_crc(crc32c(file));
  for (int byte = 0; byte < 4; ++byte) file.push_back(static_cast<char>(crc >> (8 * byte)));
  EXPECT_THAT(record_error(file + "some bytes"),
              HasSubstr("truncated: expected 18446744073709551615 bytes of data and 4 bytes of "
                        "checksum, found 10"));
}

}  // namespace
}  // namespace smelt::io
