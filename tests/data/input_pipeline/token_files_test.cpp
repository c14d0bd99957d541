// Token stores and snapshot folders as arrays of tokens.
#include "data/input_pipeline/token_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "data/input_pipeline/data_paths.h"
#include "data/input_pipeline/snapshot_folder.h"
#include "io/filesystem/file.h"
#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"
#include "io/formats/tfrecord.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/snapshots.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int32_t> streamed(const std::string& path) {
  SnapshotReader reader(open_snapshot(path));
  std::vector<std::int32_t> ids;
  while (reader.next(ids)) {
  }
  return ids;
}

std::vector<std::int32_t> all_of(const std::string& path, std::uint64_t memory = kTokenMemory) {
  const TokenFiles files({path}, memory);
  std::vector<std::int32_t> ids(files.tokens(0));
  files.read(0, 0, ids);
  return ids;
}

std::vector<std::int32_t> counting(std::int32_t first, std::size_t count) {
  std::vector<std::int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

class TokenFilesTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const TestSnapshot& snapshot) const {
    write_test_snapshot(dir_.file(name), snapshot);
    return dir_.file(name);
  }
  static void pack(const std::string& folder) {
    const CommandOutput out =
        run_command(str("cd ", folder,
                        " && for f in $(find . -name '*.snapshot'); do gzip -n $f && mv $f.gz $f; "
                        "done"));
    ASSERT_EQ(out.status, 0) << out.text;
  }
  TempDir dir_;
};

TEST_F(TokenFilesTest, InterleavesShardsInTheOrderOfSaving) {
  for (const std::size_t shards : {1, 2, 3, 7})
    for (const std::int64_t count : {1, 6, 7, 20, 3001}) {
      const std::string path = write(str("s", shards, "-", count), dealt_out(10, count, shards));
      const auto wanted = counting(10, static_cast<std::size_t>(count));
      EXPECT_EQ(streamed(path), wanted) << shards;
      EXPECT_EQ(all_of(path), wanted) << shards;
    }
}

TEST_F(TokenFilesTest, ReadsAnyRangeOfUnevenShards) {
  TestSnapshot snapshot;  // as saved with a custom function that chooses the shards
  snapshot.shards.resize(4);
  std::int64_t id = 0;
  for (const auto& [shard, count] : {std::pair{0, 5}, {1, 130}, {3, 61}})
    for (int i = 0; i < count; ++i)
      snapshot.shards[static_cast<std::size_t>(shard)].push_back({id++});
  snapshot.chunk = 20;
  const std::string path = write("s", snapshot);
  const auto whole = streamed(path);
  EXPECT_THAT(std::vector(whole.begin(), whole.begin() + 6), ElementsAre(0, 5, 135, 1, 6, 136));
  EXPECT_EQ(whole.size(), 196u);
  const TokenFiles files({path});
  for (std::uint64_t first = 0; first <= whole.size(); ++first)
    for (std::uint64_t count = 0; first + count <= whole.size(); count += 1 + count / 2) {
      std::vector<std::int32_t> run(count);
      files.read(0, first, run);
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(first);
      ASSERT_EQ(run, std::vector(begin, begin + static_cast<std::ptrdiff_t>(count)));
    }
}

TEST_F(TokenFilesTest, ReadsCompressedAndListSnapshotsIntoMemory) {
  const std::string packed = write("packed", dealt_out(0, 5000, 3));
  pack(packed);
  EXPECT_EQ(streamed(packed), counting(0, 5000));
  EXPECT_EQ(all_of(packed), counting(0, 5000));
  EXPECT_EQ(all_of(packed, 10000), counting(0, 5000));
  EXPECT_EQ(error_of<UsageError>([&] { (void)all_of(packed, 9999); }),
            packed +
                ": compressed snapshots and snapshots of lists are read into memory, but this one "
                "exceeds the memory limit\n  hint: convert it to a token store with `smelt data "
                "convert`");
  const std::string cut = write("cut", dealt_out(0, 5000, 1));
  std::filesystem::resize_file(cut + "/17/00000000.shard/00000000.snapshot", 100000);
  EXPECT_THAT(error_of<UsageError>([&] { (void)all_of(cut, 10); }),
              HasSubstr("00000000.snapshot: record at offset "));  // the error is not about memory
  TestSnapshot lists;
  lists.scalars = false;
  lists.type = 17;
  lists.shards = {{{1, 2, 3}, {4}, {}}, {{5, 6}, {70}}};
  EXPECT_THAT(all_of(write("lists", lists)), ElementsAre(1, 2, 3, 5, 6, 4, 70));
  lists.type = 9;
  lists.shards[1][1] = {70000};
  EXPECT_THAT(all_of(write("wide", lists)), ElementsAre(1, 2, 3, 5, 6, 4, 70000));
}

TEST_F(TokenFilesTest, EveryTruncationAndChangedByteIsDetectedOrHarmless) {
  const std::string path = write("s", dealt_out(0, 6, 2));
  const auto tokens = counting(0, 6);
  int refused = 0, same = 0;
  for (const std::string name : {"snapshot.metadata", "17/00000001.shard/00000000.snapshot"}) {
    const std::string file = path + "/" + name, whole = io::read_file(file);
    const auto try_it = [&](const std::string& bytes, std::size_t at) {
      io::write_file(file, bytes);
      for (const auto& read : {streamed, +[](const std::string& p) { return all_of(p); }}) {
        std::vector<std::int32_t> found;
        const std::string error = error_of<UsageError>([&] { found = read(path); });
        if (error == "no error") {
          EXPECT_EQ(found, tokens) << name << " " << at;
          ++same;
        } else {
          EXPECT_THAT(error, HasSubstr(path)) << name << " " << at;
          ++refused;
        }
      }
    };
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ 0x20);
      try_it(broken, at);
      try_it(whole.substr(0, at), at);
    }
    io::write_file(file, whole);
  }
  EXPECT_GT(refused, 250);
  EXPECT_LT(same, 60);  // changes in the time of writing and in unknown fields
}

TEST_F(TokenFilesTest, ReportsFileAndOffsetOfDamage) {
  const std::string path = write("s", dealt_out(0, 100, 1)),
                    file = path + "/17/00000000.shard/00000000.snapshot";
  const std::string whole = io::read_file(file);
  const auto error = [&](const std::string& bytes) {
    io::write_file(file, bytes);
    return error_of<UsageError>([&] { (void)all_of(path); });
  };
  EXPECT_THAT(error(whole.substr(0, whole.size() - 3)),
              HasSubstr(file + ": record at offset 2970: truncated: "));
  EXPECT_THAT(error(whole.substr(0, 60)),
              HasSubstr(path + ": has 2 elements, but according to snapshot.metadata 100"));
  std::string broken = whole;
  broken[50] = static_cast<char>(broken[50] ^ 1);
  EXPECT_THAT(error(broken), HasSubstr(file + ": record at offset 30: data checksum"));
  EXPECT_THAT(error(std::string("\0\0\0\x1c\x1e", 5) + whole.substr(5)),
              HasSubstr(file + ": compressed with SNAPPY"));
  std::filesystem::remove_all(path + "/17");
  EXPECT_THAT(error_of<UsageError>([&] { (void)all_of(path); }),
              HasSubstr("snapshot.metadata: lists 100 elements, but "));
}

// The length of its first record is 0x8b1f, a list of uint8.
TEST_F(TokenFilesTest, ReadsAnUncompressedSnapshotThatStartsLikeGzip) {
  const std::vector<std::int64_t> ids(35601, 7);
  ASSERT_EQ(tensor_message(4, false, ids).size(), 0x8b1fU);
  TestSnapshot snapshot;
  snapshot.scalars = false;
  snapshot.type = 4;
  snapshot.shards = {{ids}};
  const std::string path = write("s", snapshot);
  EXPECT_EQ(all_of(path), std::vector<std::int32_t>(35601, 7));
}

TEST_F(TokenFilesTest, ReportsTheOffsetOfDamageInACompressedSnapshot) {
  const std::string path = write("s", dealt_out(0, 30000, 1)),
                    file = path + "/17/00000000.shard/00000000.snapshot";
  pack(path);
  const std::string whole = io::read_file(file);
  io::write_file(file, whole.substr(0, whole.size() - 20));
  EXPECT_THAT(
      error_of<UsageError>([&] { (void)streamed(path); }),
      testing::ContainsRegex(
          file +
          ": damaged or truncated gzip file: it ends too early after 29[0-9]+ decompressed bytes"));
}

// The error is thrown before decompression.
TEST_F(TokenFilesTest, RejectsAHugeRecordBeforeDecompression) {
  const std::string path = write("s", dealt_out(0, 1, 1)),
                    file = path + "/17/00000000.shard/00000000.snapshot";
  std::string bytes;
  io::append_little_endian(bytes, std::uint64_t{3} << 30);
  io::append_little_endian(bytes, io::mask_crc(io::crc32c(bytes)));
  io::write_file(file, bytes + std::string(1 << 20, '\0'));
  pack(path);
  EXPECT_EQ(error_of<UsageError>([&] { (void)streamed(path); }),
            file +
                ": record at offset 0: 3221225472 bytes, more than the maximum of 268435456\n  "
                "hint: save shorter elements, such as one per document");
}

TEST_F(TokenFilesTest, ReportsTheOffsetOfAListAmongScalars) {
  const std::string path = write("s", dealt_out(0, 2, 1)),
                    file = path + "/17/00000000.shard/00000000.snapshot";
  std::string bytes;  // a scalar with its version twice is as long as a list of one number
  const std::string scalar("\x08\x09\x12\x00\x18\x00\x18\x00\x22\x08", 10);
  io::append_record(bytes, scalar + std::string(8, '\0'));
  io::append_record(bytes, tensor_message(9, false, {7}));
  io::write_file(file, bytes);
  for (const auto& read : {streamed, +[](const std::string& p) { return all_of(p); }})
    EXPECT_EQ(error_of<UsageError>([&] { (void)read(path); }),
              file +
                  ": record at offset 34: a list of tokens among scalars\n  hint: save only "
                  "scalars or only lists");
  bytes.clear();
  io::append_record(bytes, tensor_message(9, false, {7, 8}));
  io::append_record(bytes, tensor_message(9, true, {9}));
  io::write_file(file, bytes);
  EXPECT_EQ(
      error_of<UsageError>([&] { (void)all_of(path); }),
      file +
          ": record at offset 42: a scalar among lists\n  hint: save only scalars or only lists");
}

TEST_F(TokenFilesTest, SnapshotAndTokenStoreOfTheSameTokensMatch) {
  const std::string path = write("s", dealt_out(0, 3000, 2));
  std::string bytes;
  io::TokenStoreWriter store({}, 2, [&](std::string_view more) { bytes += more; });
  store.add(counting(0, 3000));
  store.finish();
  io::write_file(dir_.file("s.tokens"), bytes);
  EXPECT_EQ(all_of(path), all_of(dir_.file("s.tokens")));
}

TEST_F(TokenFilesTest, RejectsOtherFileTypesAndDifferingVocabularies) {
  const auto write_store = [&](const std::string& name, std::uint32_t crc) {
    std::string bytes;
    io::TokenStoreWriter store({.size = 9, .crc32c = crc}, 2,
                               [&](std::string_view more) { bytes += more; });
    store.finish();
    io::write_file(dir_.file(name), bytes);
    return dir_.file(name);
  };
  const std::string a = write_store("a", 1), b = write_store("b", 2);
  EXPECT_EQ(error_of<UsageError>([&] { TokenFiles({a, b}); }),
            str(b, ": made with a vocabulary whose CRC-32C is 2, but that of ", a,
                " has 1\n  hint: make all of them with the same vocabulary"));
  io::write_file(dir_.file("c"), "some text");
  EXPECT_THAT(error_of<UsageError>([&] { TokenFiles({a, dir_.file("c")}); }),
              HasSubstr("/c: not a token store or a snapshot folder, unlike the files before it"));
  std::filesystem::create_directory(dir_.file("d"));
  EXPECT_THAT(
      error_of<UsageError>([&] { (void)is_snapshot(dir_.file("d")); }),
      HasSubstr("/d: a folder without snapshot.metadata\n  hint: name the files in it, as '"));
}

TEST_F(TokenFilesTest, FindsFoldersAndFilesByPathAndPattern) {
  write("books-00000-of-00002", dealt_out(0, 1, 1));
  write("books-00001-of-00002", dealt_out(0, 1, 1));
  EXPECT_THAT(data_paths(dir_.file("books-0000?-of-00002"), "data"),
              ElementsAre(dir_.file("books-00000-of-00002"), dir_.file("books-00001-of-00002")));
  EXPECT_THAT(error_of<UsageError>([&] { (void)data_paths(dir_.file("x-*"), "data"); }),
              HasSubstr("data: no file matches '" + dir_.file("x-*")));
  EXPECT_THAT(error_of<UsageError>([&] { (void)data_paths(dir_.file("x"), "data"); }),
              HasSubstr("No such file"));
}

// Written by the installed TensorFlow: scalars and lists of every integer type, compressed or not,
// in one shard, distributed over three, and saved with checkpoints.
TEST_F(TokenFilesTest, ReadsSnapshotsSavedByTensorFlow) {
  REQUIRE_ORACLE();
  const CommandOutput out =
      run_oracle(str(source_path("tests/data/input_pipeline/save_snapshots.py"), " ", dir_.path()));
  ASSERT_EQ(out.status, 0) << out.text;
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    if (!entry.is_directory()) continue;
    ++folders;
    const std::string path = entry.path().string();
    std::vector<std::int32_t> wanted;
    const std::string saved = io::read_file(path + ".ids");
    for (const std::string_view id : split(saved, ' '))
      wanted.push_back(std::stoi(std::string(id)));
    EXPECT_EQ(streamed(path), wanted) << path;
    EXPECT_EQ(all_of(path), wanted) << path;
  }
  EXPECT_EQ(folders, 14);
}

// Made by tools/golden_snapshot.py, which ran TensorFlow 2.21.
TEST(GoldenSnapshot, IsReadWithoutTensorFlow) {
  const std::string golden = source_path("tests/golden/snapshot");
  EXPECT_EQ(streamed(golden + "/scalars"), counting(100, 10));
  EXPECT_EQ(all_of(golden + "/scalars"), counting(100, 10));
  EXPECT_EQ(all_of(golden + "/lists-gzip"), counting(0, 12));
}

}  // namespace
}  // namespace smelt::data
