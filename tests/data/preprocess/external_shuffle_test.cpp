// Writing records of any size to key ranges and reading them back.
#include "data/preprocess/external_shuffle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/philox.h"
#include "data/preprocess/document_groups.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

__extension__ using Wide = unsigned __int128;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(CutKeys, SplitTheKeysIntoEqualRanges) {
  for (const std::uint64_t parts : {1, 2, 3, 7, 1024}) {
    const auto cuts = cut_keys(0, kLastKey, parts);
    ASSERT_EQ(cuts.size(), parts);
    EXPECT_EQ(cuts.front(), 0u);
    for (std::uint64_t i = 1; i < parts; ++i) {
      // floor(key / 2^64 * parts) is i from the cut on
      EXPECT_EQ(static_cast<std::uint64_t>(Wide{cuts[i]} * parts >> 64), i);
      EXPECT_EQ(static_cast<std::uint64_t>(Wide{cuts[i] - 1} * parts >> 64), i - 1);
    }
  }
  EXPECT_THAT(cut_keys(5, 7, 9), ElementsAre(5, 6, 7));
  EXPECT_THAT(cut_keys(kLastKey, kLastKey, 2), ElementsAre(kLastKey));
}

class SpillTest : public testing::Test {
 protected:
  // Returns records of 0 to 300 bytes by key.
  static std::map<std::uint64_t, std::string> records(int count) {
    std::map<std::uint64_t, std::string> out;
    for (int i = 0; i < count; ++i) {
      const auto bits = philox(1, static_cast<std::uint64_t>(i), 0);
      out[std::uint64_t{bits[0]} << 32 | bits[1]] =
          std::string(bits[2] % 301, static_cast<char>(i));
    }
    return out;
  }
  ExternalShuffle write(const std::map<std::uint64_t, std::string>& records) {
    SpillFile file(dir_.file("spill-1"));
    SpillWriter writer(file, cut_keys(0, kLastKey, 5), 100);  // many records are larger
    for (const auto& [key, record] : records) writer.append(key, record);
    std::vector<SpillRange> ranges = writer.finish();
    file.close();
    return {file.path(), std::move(ranges)};
  }
  static std::map<std::uint64_t, std::string> read(const ExternalShuffle& spill) {
    std::map<std::uint64_t, std::string> out;
    for (std::size_t i = 0; i < spill.ranges().size(); ++i)
      spill.read(spill.ranges()[i], [&](const std::string& chunk) {
        for (std::string_view rest = spill_records(chunk); !rest.empty();) {
          const SpillRecord record = take_record(rest);
          EXPECT_GE(record.key, spill.ranges()[i].first_key);
          if (i + 1 < spill.ranges().size()) {
            EXPECT_LT(record.key, spill.ranges()[i + 1].first_key);
          }
          out[record.key] = record.bytes;
        }
      });
    return out;
  }
  SplitOptions split(std::uint64_t limit) {
    return {.folder = dir_.path(),
            .name = "spill",
            .limit = limit,
            .fan_out = 4,
            .least_chunk = 64,
            .most_chunk = 256,
            .memory = 1024,
            .threads = 3};
  }

  TempDir dir_;
};

TEST_F(SpillTest, ReadsAllRecordsAfterSplitsAndFromASavedList) {
  const auto wanted = records(1000);
  ExternalShuffle spill = write(wanted);
  EXPECT_EQ(read(spill), wanted);
  spill.split(split(1000));
  EXPECT_EQ(read(spill), wanted);
  EXPECT_GT(spill.ranges().size(), 150u);
  for (const SpillRange& range : spill.ranges())
    EXPECT_TRUE(range.bytes <= 1000 || range.records == 1) << range.bytes;
  EXPECT_FALSE(std::filesystem::exists(dir_.file("spill-1")));
  spill.save(dir_.file("list"));
  EXPECT_EQ(read(ExternalShuffle::load(dir_.file("list"))), wanted);
}

TEST_F(SpillTest, AListLoadsFromAMovedFolder) {
  const auto wanted = records(10);
  write(wanted).save(dir_.file("list"));
  const TempDir other;
  std::filesystem::rename(dir_.path(), other.file("moved"));
  EXPECT_EQ(read(ExternalShuffle::load(other.file("moved/list"))), wanted);
}

TEST_F(SpillTest, RejectsADamagedList) {
  write(records(10)).save(dir_.file("list"));
  std::string list = io::read_file(dir_.file("list"));
  for (const std::size_t at : {std::size_t{0}, list.size() - 1}) {
    std::string damaged = list;
    damaged[at] ^= 1;
    io::write_file(dir_.file("list"), damaged);
    EXPECT_THAT(error_of([&] { ExternalShuffle::load(dir_.file("list")); }),
                HasSubstr("list: damaged"));
  }
}

TEST_F(SpillTest, NeverWritesIntoAnExistingFileOrLink) {
  io::write_file(dir_.file("mine"), "dear");
  std::filesystem::create_symlink(dir_.file("mine"), dir_.file("link"));
  for (const char* name : {"mine", "link"})
    EXPECT_THAT(error_of([&] { SpillFile file(dir_.file(name)); }), HasSubstr("File exists"));
  EXPECT_EQ(io::read_file(dir_.file("mine")), "dear");
}

TEST(GroupRanges, PutsAllRangesInGroupsOfSimilarSize) {
  for (const std::uint64_t limit : {300, 1000, 100000}) {
    std::vector<SpillRange> ranges(200);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      ranges[i].bytes = philox(2, i, 0)[0] % 100;
      ranges[i].records = ranges[i].bytes > 0 ? 1 : 0;
      total += ranges[i].bytes;
    }
    const auto runs = group_ranges(ranges, limit);
    EXPECT_LE(runs.size(), total / limit + 1);
    std::uint64_t held = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (i > 0) {
        EXPECT_EQ(runs[i].first, runs[i - 1].last);
      }
      std::uint64_t bytes = 0;
      for (std::size_t range = runs[i].first; range < runs[i].last; ++range)
        bytes += ranges[range].bytes;
      EXPECT_LE(bytes, limit + 100);
      EXPECT_GE(bytes + 100, std::min(limit, total) / 2);
      held += bytes;
    }
    EXPECT_EQ(held, total);
  }
}

}  // namespace
}  // namespace smelt::data
