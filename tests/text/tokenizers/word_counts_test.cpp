// Word counts, in memory and on disk.
#include "text/tokenizers/word_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/philox.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "text/tokenizers/word_runs.h"

namespace smelt::text {
namespace {

using testing::HasSubstr;

// 20000 words, the last 10000 of which occur once. Counts beyond half a megabyte are on disk.
TEST(WordCounts, DoNotDependOnTheMemoryLimit) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += str("w", i, i % 10 == 0 ? "\n" : " ");
  for (int i = 0; i < 10000; ++i) text += str("w", i, i % 10 == 0 ? "\n" : " ");
  const TempDir dir;
  io::write_file(dir.file("in.txt"), text);
  const LinesOptions words{.input = dir.file("in.txt")};
  const auto count = [&](int threads, std::int64_t memory) {
    SampledLines lines(words);
    return count_words(lines, white_space_words(), threads, memory);
  };
  const WordCounts all = count(1, kWordMemory);
  EXPECT_EQ(all.size(), 20000u);
  EXPECT_EQ(all.at("w9999"), 2);
  const CapturedLog log;
  EXPECT_EQ(count(3, 8 << 20), all);
  EXPECT_EQ(log.text(), "");
  const WordCounts some = count(1, 4 << 20);
  EXPECT_EQ(some.size(), 10000u);
  EXPECT_THAT(log.text(), HasSubstr("vocab: 10000 different words that occur fewer than 2 times "
                                    "are skipped to fit in 4 MB of memory; raise --memory"));
  EXPECT_EQ(count(4, 4 << 20), some);
  EXPECT_THAT(error_of<UsageError>([&] { count(1, 1 << 20); }),
              HasSubstr("vocab: 1 MB of memory is too small for 20000 different words"));
  EXPECT_THAT(error_of<UsageError>([&] { count(1, 1000); }),
              HasSubstr("vocab: --memory 1000 is less than 1048576 bytes"));
}

TEST(SampledLines, BytesReadIncludesSkippedLinesOfCompressedText) {
  const TempDir dir;
  const std::string line(99, 'a');
  std::string text;
  for (int i = 0; i < 1000; ++i) text += line + "\n";
  io::write_file(dir.file("a.txt"), text);
  ASSERT_EQ(run_command(str("gzip -k ", dir.file("a.txt"))).status, 0);
  for (const char* name : {"a.txt", "a.txt.gz"}) {
    LinesOptions options;
    options.input = dir.file(name);
    options.sample = 0.1;
    SampledLines lines(options);
    std::string read;
    while (lines.next(read)) {
    }
    EXPECT_LT(lines.summary().lines, 200) << name;
    EXPECT_GE(lines.bytes_read(), 99'000u) << name;
  }
}

TEST(WordRuns, MergeLikeAMap) {
  WordRuns runs;
  WordCounts all;
  for (std::uint64_t run = 0; run < 50; ++run) {
    WordCounts counts;
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto bits = philox(5, run, i);
      counts[std::string(bits[0] % 7 == 0 ? 200000 : bits[0] % 5, static_cast<char>(bits[1]))] +=
          bits[2] % 9;
    }
    for (const auto& [word, count] : counts) all[word] += count;
    runs.add({counts.begin(), counts.end()});
  }
  WordCounts merged;
  runs.merge([&](std::string_view word, std::int64_t count) {
    EXPECT_TRUE(merged.empty() || merged.rbegin()->first < word);
    merged.emplace(word, count);
  });
  EXPECT_EQ(merged, all);
}

}  // namespace
}  // namespace smelt::text
