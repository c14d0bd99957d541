#include "data/input_pipeline/record_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "data/input_pipeline/record_index_file.h"
#include "data/input_pipeline/record_tokens.h"
#include "io/filesystem/file.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "support/bert_records.h"
#include "support/captured_log.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> read_all(const RecordIndex& index) {
  std::vector<std::string> out;
  std::string buffer;
  index.read(0, index.size(), buffer, [&](std::uint64_t record, std::string_view data) {
    EXPECT_EQ(record, out.size());
    out.emplace_back(data);
  });
  return out;
}

class RecordIndexTest : public testing::Test {
 protected:
  std::string write(std::string_view name, const std::vector<std::string>& records) {
    std::string bytes;
    for (const std::string& record : records) io::append_record(bytes, record);
    io::write_file(dir_.file(name), bytes);
    return dir_.file(name);
  }
  // Writes the records and their index.
  std::string write_indexed(std::string_view name, const std::vector<std::string>& records) {
    RecordIndexBuilder builder;
    for (const std::string& record : records) {
      std::string framed;
      io::append_record(framed, record);
      builder.add(framed, record.size());
    }
    builder.write(write(name, records));
    return dir_.file(name);
  }
  TempDir dir_;
};

TEST_F(RecordIndexTest, ReadsRunsAcrossFilesIncludingEmptyOnes) {
  std::vector<std::string> wanted;
  for (int i = 0; i < 300; ++i)
    wanted.push_back(std::string(static_cast<std::size_t>(i * 37 % 5000), 'a' + i % 26));
  const std::vector<std::string> first(wanted.begin(), wanted.begin() + 200),
      second(wanted.begin() + 200, wanted.end());
  for (const bool indexed : {false, true}) {
    const auto make = [&](std::string_view name, const std::vector<std::string>& records) {
      return indexed ? write_indexed(name, records) : write(name, records);
    };
    const RecordIndex index(
        {make("e0", {}), make("a", first), make("e1", {}), make("b", second), make("e2", {})});
    EXPECT_EQ(read_all(index), wanted);
    for (const std::uint64_t record : {0u, 63u, 64u, 65u, 199u, 200u, 299u})
      EXPECT_EQ(index.read(record), wanted[record]);
    EXPECT_EQ(index.tokens(199),
              indexed ? std::optional<std::uint64_t>(wanted[199].size()) : std::nullopt);
    EXPECT_EQ(index.place(200), dir_.file("b") + ": record 0");
    EXPECT_EQ(index.bytes(), std::filesystem::file_size(dir_.file("a")) +
                                 std::filesystem::file_size(dir_.file("b")));
  }
}

TEST_F(RecordIndexTest, ReadsRecordsLargerThanARun) {
  const std::vector<std::string> records{std::string(3 << 20, 'x'), "y", std::string(5 << 20, 'z')};
  EXPECT_EQ(read_all(RecordIndex({write("a", records)})), records);
}

TEST_F(RecordIndexTest, ReadsFromMoreFilesThanItKeepsOpen) {
  std::vector<std::string> files;
  for (int i = 0; i < 300; ++i) files.push_back(write(str("f", i), {str(i)}));
  const RecordIndex index(files);
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t record = 0; record < 300; ++record)
      ASSERT_EQ(index.read(record), str(record));
}

TEST_F(RecordIndexTest, JoinedPartsGiveTheSameIndexAsTheWhole) {
  RecordIndexBuilder whole, joined;
  for (int part = 0; part < 3; ++part) {
    RecordIndexBuilder next;
    for (int i = 0; i < part * 2; ++i) {  // the first part is empty
      std::string record;
      io::append_record(record, std::string(static_cast<std::size_t>(part * 100 + i), 'x'));
      whole.add(record, static_cast<std::uint64_t>(i));
      next.add(record, static_cast<std::uint64_t>(i));
    }
    joined.append(next);
  }
  whole.write(dir_.file("whole"));
  joined.write(dir_.file("joined"));
  EXPECT_EQ(io::read_file(dir_.file("whole.index")), io::read_file(dir_.file("joined.index")));
}

TEST_F(RecordIndexTest, WarnsOfTheIndexOfAnotherFileAndIgnoresIt) {
  const std::string path = write_indexed("a", {"one", "three"});
  write("a", {"three", "one"});  // a file of the same size
  const CapturedLog log;
  EXPECT_THAT(read_all(RecordIndex({path})), ElementsAre("three", "one"));
  EXPECT_THAT(log.text(), HasSubstr("a.index is the index of another file; it is not used"));
}

TEST_F(RecordIndexTest, WarnsOfADamagedIndexAndIgnoresIt) {
  const std::string path = write_indexed("a", {"one", "three"});
  std::string bytes = io::read_file(record_index_path(path));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  io::write_file(record_index_path(path), bytes);
  const CapturedLog log;
  EXPECT_THAT(read_all(RecordIndex({path})), ElementsAre("one", "three"));
  EXPECT_THAT(log.text(), HasSubstr("a.index: wrong checksum"));
  EXPECT_THAT(log.text(),
              HasSubstr("hint: remove the file and write it again with `smelt data index`"));
}

TEST_F(RecordIndexTest, IgnoresAnIndexWhoseSizesOverflow64Bits) {
  const std::string path = write("a", {"one", "three"});
  const std::uint64_t bytes = std::filesystem::file_size(path);
  io::RecordLayout layout = scan_records(io::RandomAccessFile(path));
  layout.sizes = {};
  for (const std::uint64_t size : {std::uint64_t{1} << 63, std::uint64_t{1} << 63, bytes})
    layout.sizes.push_back(size);
  ASSERT_EQ(layout.file_size(), bytes) << "modulo 2^64";
  io::write_file(record_index_path(path), io::encode_record_layout(layout));
  const CapturedLog log;
  EXPECT_THAT(read_all(RecordIndex({path})), ElementsAre("one", "three"));
  EXPECT_THAT(log.text(), HasSubstr("a.index is the index of another file; it is not used"));
}

TEST_F(RecordIndexTest, SkipsIndexAndDescriptionFiles) {
  for (const char* name : {"t-0", "t-1"}) write_indexed(name, {"x"});
  io::write_file(dir_.file("t-0.json"), "{}");
  io::write_file(dir_.file("t-1.partial-0123456789abcdef"), "half");
  EXPECT_THAT(record_files(dir_.file("t*"), "data"),
              ElementsAre(dir_.file("t-0"), dir_.file("t-1")));
  EXPECT_THAT(record_files(dir_.file("t-0.json"), "data"),
              ElementsAre(dir_.file("t-0.json")));  // a file that is named explicitly
}

TEST_F(RecordIndexTest, ThrowsForIncompleteFiles) {
  write_indexed("t-0", {"x"});
  io::write_file(dir_.file("t-0.work/job.json"), "{}");
  for (const char* pattern : {"t*", "t-0.work"})
    EXPECT_THAT(error_of([&] { record_files(dir_.file(pattern), "data"); }),
                AllOf(HasSubstr("data: these files are incomplete: "),
                      HasSubstr("t-0.work exists\n  hint: run the command that writes them "
                                "again; it resumes")));
}

TEST_F(RecordIndexTest, DetectsEveryChangedByteWithFileAndOffset) {
  const std::vector<std::string> records{"first", "", "the third"};
  const std::string whole = io::read_file(write("a", records));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    const std::size_t start = at < 21 ? 0 : at < 37 ? 21 : 37;
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ (1 << at % 8));
    io::write_file(dir_.file("a"), broken);
    EXPECT_THAT(message_of([&] { read_all(RecordIndex({dir_.file("a")})); }),
                HasSubstr(str("/a: record at offset ", start, ": ")))
        << at;
  }
}

TEST_F(RecordIndexTest, DetectsDamageInAnIndexedRecordWhenItIsRead) {
  const std::string path = write_indexed("a", {"first", "second", "third"});
  std::string bytes = io::read_file(path);
  bytes[21] = static_cast<char>(bytes[21] ^ 1);  // the second record's length
  io::write_file(path, bytes);
  const RecordIndex index({path});
  EXPECT_EQ(index.read(0), "first");
  EXPECT_EQ(index.read(2), "third");
  EXPECT_THAT(message_of([&] { (void)index.read(1); }),
              HasSubstr("/a: record at offset 21: length checksum "));
}

TEST_F(RecordIndexTest, ReportsAFileThatChangesWhileInUse) {
  const std::string path = write("a", {"first", "second"});
  const RecordIndex shrunk({path});
  std::filesystem::resize_file(path, 25);
  EXPECT_THAT(message_of([&] { read_all(shrunk); }),
              HasSubstr("/a: record at offset 21: truncated: "));
  write("a", {"first", "second"});
  const RecordIndex changed({path});
  write("a", {"fir", "second"});
  EXPECT_THAT(message_of([&] { (void)changed.read(0); }),
              HasSubstr("/a: record at offset 0: 19 bytes, expected 21: the file has changed since "
                        "it was opened"));
}

TEST_F(RecordIndexTest, ReportsAFileDeletedBeforeItsFirstRead) {
  const std::string path = write("a", {"first"});
  const RecordIndex index({path});
  std::filesystem::remove(path);
  EXPECT_THAT(message_of([&] { (void)index.read(0); }), HasSubstr("/a: No such file"));
}

TEST_F(RecordIndexTest, ReadsAnOpenFileAfterItsDeletion) {
  const std::string path = write("a", {"first", "second"});
  const RecordIndex index({path});
  EXPECT_EQ(index.read(0), "first");
  std::filesystem::remove(path);
  EXPECT_EQ(index.read(1), "second");
}

TEST_F(RecordIndexTest, IndexStoresTheLengthsOfExamples) {
  const std::string path = dir_.file("a.tfrecord");
  write_test_examples(path, 0, 5,
                      [](int number, TestExample& example) { example.input_mask[5] = number % 2; });
  EXPECT_EQ(index_records(path), 5u);
  const RecordIndex index({path});
  EXPECT_EQ(index.tokens(0), 5u);
  EXPECT_EQ(index.tokens(1), 6u);
  write_test_examples(path, 0, 5, [](int number, TestExample& example) {
    if (number == 3) example.input_ids.pop_back();
  });
  EXPECT_EQ(index_records(path), 5u);
  io::ExampleWriter writer;
  writer.integers("colour", std::vector<std::int32_t>{-3, 1, 1});
  write("b", {writer.take()});
  EXPECT_EQ(index_records(dir_.file("b")), 1u);
  EXPECT_EQ(RecordIndex({dir_.file("b")}).tokens(0), std::nullopt);
  EXPECT_EQ(index_records(dir_.file("b"), "colour"), 1u);
  EXPECT_EQ(RecordIndex({dir_.file("b")}).tokens(0), 2u);
  EXPECT_THAT(message_of([&] { index_records(dir_.file("b"), "mask"); }),
              HasSubstr("b: record 0: no feature 'mask'; it has: colour"));
  writer.integers("colour", std::vector<std::int32_t>{1});
  const std::string one = writer.take();
  writer.reals("colour", std::vector<float>{1});
  write("c", {one, writer.take()});
  EXPECT_EQ(index_records(dir_.file("c")), 2u);
  EXPECT_THAT(message_of([&] { index_records(dir_.file("c"), "colour"); }),
              HasSubstr("c: record 1: feature 'colour'"));
  write("d", {one, "no example"});
  EXPECT_THAT(message_of([&] { index_records(dir_.file("d")); }), HasSubstr("d: record 1: "));
}

TEST_F(RecordIndexTest, IndexesExamplesWithListsOfVaryingLength) {
  io::ExampleWriter writer;
  std::vector<std::string> records;
  for (std::int32_t length = 1; length < 4; ++length) {
    writer.integers("input_mask", std::vector<std::int32_t>(length, 1));
    if (length == 2) writer.reals("score", std::vector<float>{1});
    records.push_back(writer.take());
  }
  write("a", records);
  EXPECT_EQ(index_records(dir_.file("a")), 3u);
  const RecordIndex index({dir_.file("a")});
  for (std::uint64_t record = 0; record < 3; ++record) EXPECT_EQ(index.tokens(record), record + 1);
}

}  // namespace
}  // namespace smelt::data
