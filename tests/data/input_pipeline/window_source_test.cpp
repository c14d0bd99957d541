#include "data/input_pipeline/window_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "base/json.h"
#include "data/input_pipeline/fingerprint.h"
#include "data/input_pipeline/prefetch.h"
#include "io/filesystem/file.h"
#include "support/bert_records.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/snapshots.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kLength = 5;
constexpr std::int32_t kFile = 1000000;  // token t of file f has id f * kFile + t

RecordOptions options_of(const std::string& input, std::uint64_t seed = 1) {
  return {.input = input,
          .features = {{"targets", compiler::DType::s32, {kLength}, 2000000000, "vocab_size"}},
          .seed = seed};
}

void write_store(const std::string& path, std::int32_t first, std::size_t count,
                 const io::TokenVocabulary& vocabulary = {}) {
  std::vector<std::int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  std::string bytes;
  io::TokenStoreWriter store(vocabulary, 4, [&](std::string_view more) { bytes += more; });
  store.add(ids);
  store.finish();
  io::write_file(path, bytes);
}

// Files of these numbers of tokens, as stores f<n>.tokens and snapshots f<n>.
class WindowSourceTest : public testing::Test {
 protected:
  void write(const std::vector<std::size_t>& tokens) {
    for (std::size_t file = 0; file < tokens.size(); ++file)
      write_store(dir_.file(str("f", file, ".tokens")), static_cast<std::int32_t>(file) * kFile,
                  tokens[file]);
  }
  std::string stores() const { return dir_.file("f*.tokens"); }
  WindowSource open(std::uint64_t seed = 1) const {
    return WindowSource(options_of(stores(), seed), data_paths(stores(), "data"));
  }
  TempDir dir_;
};

using Windows = std::vector<std::vector<std::int32_t>>;

void append_windows(const Batch& batch, Windows& out) {
  const auto ids = batch.arrays.front().values<std::int32_t>();
  for (std::size_t first = 0; first < ids.size(); first += kLength) {
    const auto window = ids.subspan(first, kLength);
    out.emplace_back(window.begin(), window.end());
  }
}

// Returns the windows of training epochs in order of position.
std::vector<Windows> epochs_of(const WindowSource& source, std::size_t epochs,
                               std::int64_t batch_size) {
  std::vector<Windows> out(epochs);
  const auto size = static_cast<std::uint64_t>(batch_size);
  for (std::uint64_t step = 0; step * size < epochs * source.epoch_size(); ++step) {
    Windows windows;
    append_windows(source.batch(step, batch_size), windows);
    const auto positions = positions_of_rows(step, size, 0, size);
    for (std::size_t row = 0; row < positions.size(); ++row)
      if (const auto epoch = positions[row] / source.epoch_size(); epoch < epochs)
        out[epoch].push_back(windows[row]);
  }
  return out;
}

// Checks an epoch against the arrays: after one skip per file, it must contain all windows once.
// Returns the skips.
std::map<std::int32_t, std::int32_t> check_epoch(const Windows& windows,
                                                 const std::vector<std::size_t>& tokens) {
  std::map<std::int32_t, std::int32_t> skips;
  std::set<std::int32_t> begins;
  for (const auto& window : windows) {
    for (std::size_t i = 1; i < window.size(); ++i) EXPECT_EQ(window[i], window[i - 1] + 1);
    const std::int32_t file = window.front() / kFile, begin = window.front() % kFile;
    EXPECT_LE(static_cast<std::size_t>(begin) + kLength, tokens[static_cast<std::size_t>(file)]);
    EXPECT_TRUE(begins.insert(window.front()).second);
    const auto [skip, first] = skips.emplace(file, begin % kLength);
    EXPECT_EQ(skip->second, begin % kLength);
    (void)first;
  }
  std::size_t wanted = 0;
  for (const std::size_t count : tokens)
    wanted += count < kLength ? 0 : std::max<std::size_t>(1, (count - (kLength - 1)) / kLength);
  EXPECT_EQ(windows.size(), wanted);
  return skips;
}

TEST_F(WindowSourceTest, EpochContainsTheWindowsOfEachFileAfterARandomSkip) {
  const std::vector<std::size_t> tokens{103, 4, 5, 9, 10, 57, 0, 1000};
  write(tokens);
  const WindowSource source = open();
  EXPECT_EQ(source.epoch_size(), 19u + 0 + 1 + 1 + 1 + 10 + 0 + 199);
  const auto epochs = epochs_of(source, 40, 7);
  std::map<std::int32_t, std::set<std::int32_t>> skips;
  for (const Windows& windows : epochs)
    for (const auto& [file, skip] : check_epoch(windows, tokens)) skips[file].insert(skip);
  for (const std::int32_t file : {0, 3, 4, 5, 7}) EXPECT_EQ(skips[file].size(), 5u) << file;
  EXPECT_THAT(skips[2], ElementsAre(0));
  EXPECT_NE(epochs[0], epochs[1]);
}

// More than 64 blocks of 1024 windows.
TEST_F(WindowSourceTest, ShufflesManyWindowsInStripesOfBlocks) {
  const std::vector<std::size_t> tokens{200000, 103, 190000};
  write(tokens);
  const WindowSource source = open();
  EXPECT_GT(source.epoch_size(), 64u * 1024);
  for (const Windows& windows : epochs_of(source, 2, 1000)) check_epoch(windows, tokens);
}

TEST_F(WindowSourceTest, EvaluationStartsAtTheBeginningOfEachFile) {
  write({12, 4, 11});
  const WindowSource source = open();
  EXPECT_EQ(source.size(), 4u);
  EXPECT_EQ(source.full_batches(3), 1u);
  Windows windows;
  append_windows(source.batch_in_order(0, 3), windows);
  append_windows(source.batch_in_order(1, 3), windows);
  std::vector<std::int32_t> begins;
  for (const auto& window : windows) {
    begins.push_back(window.front());
    EXPECT_EQ(window.back(), window.front() + 4);
  }
  EXPECT_THAT(begins, ElementsAre(0, 5, 2 * kFile, 2 * kFile + 5, 0, 5));
}

TEST_F(WindowSourceTest, StoresAndSnapshotsGiveTheSameBatches) {
  std::vector<std::unique_ptr<ExampleSource>> sources;
  for (int file = 0; file < 3; ++file) {
    write_store(dir_.file(str("f", file, ".tokens")), file * kFile, 300);
    write_test_snapshot(dir_.file(str("one-", file)), dealt_out(file * kFile, 300, 1));
    write_test_snapshot(dir_.file(str("many-", file)), dealt_out(file * kFile, 300, 3));
  }
  for (const std::string name : {"f?.tokens", "one-?", "many-?"})
    sources.push_back(open_examples(options_of(dir_.file(name))));
  sources.push_back(open_examples(
      options_of(str(dir_.file("f0.tokens"), ",", dir_.file("one-1"), ",", dir_.file("many-2")))));
  for (const auto& source : sources) {
    EXPECT_EQ(data_fingerprint(*source), data_fingerprint(*sources.front()));
    for (std::uint64_t step = 0; step < 20; ++step) {
      EXPECT_EQ(values_of(source->batch(step, 16)), values_of(sources.front()->batch(step, 16)));
      EXPECT_EQ(values_of(source->batch_in_order(step, 16)),
                values_of(sources.front()->batch_in_order(step, 16)));
    }
  }
}

TEST_F(WindowSourceTest, BatchDependsOnlyOnSeedAndStepForAnyHostsAndThreads) {
  write({1003, 400, 57});
  const WindowSource source = open(), resumed = open();
  for (const int threads : {1, 3}) {
    Prefetch prefetch(source, 16, 30, {.share = {}, .depth = 4, .threads = threads});
    for (std::uint64_t step = 30; step < 50; ++step)
      EXPECT_EQ(values_of(prefetch.next()), values_of(resumed.batch(step, 16))) << step;
  }
  for (const std::int64_t hosts : {2, 4, 16})
    for (std::uint64_t step = 0; step < 40; ++step) {
      std::vector<std::byte> parts;
      for (std::int64_t host = 0; host < hosts; ++host)
        std::ranges::copy(values_of(source.batch(step, 16, {host, hosts})),
                          std::back_inserter(parts));
      EXPECT_EQ(parts, values_of(source.batch(step, 16)));
    }
  EXPECT_NE(values_of(source.batch(0, 16)), values_of(open(2).batch(0, 16)));
}

// The windows for given files and seed must never change.
TEST_F(WindowSourceTest, FirstWindowsMatchTheGoldenWindows) {
  write({60, 33});
  Windows windows;
  append_windows(open().batch(0, 8), windows);
  std::vector<std::int32_t> begins;
  for (const auto& window : windows) begins.push_back(window.front());
  EXPECT_THAT(begins, ElementsAre(33, 38, 28, 48, 1000011, 53, 1000021, 23));
}

TEST_F(WindowSourceTest, TheFingerprintDistinguishesTokens) {
  write({500});
  const auto before = data_fingerprint(open());
  EXPECT_EQ(before["records"], 100);
  write_store(dir_.file("f0.tokens"), 1, 500);
  EXPECT_NE(data_fingerprint(open()), before);
}

// All these sources have the same evaluation windows.
TEST_F(WindowSourceTest, TheFingerprintDistinguishesTrainingOrders) {
  const auto of = [&](const std::vector<std::size_t>& tokens) {
    write(tokens);
    return data_fingerprint(open());
  };
  const auto before = of({503, 104});
  EXPECT_EQ(before, of({503, 104}));
  const auto more = of({504, 104}), moved = of({502, 104}), next = of({503, 103});
  for (const auto& other : {more, moved, next}) {
    EXPECT_EQ(other["records"], before["records"]);
    EXPECT_EQ(other["crc32c"], before["crc32c"]);
    EXPECT_NE(other, before);
  }
  EXPECT_EQ(before["windows"], 99 + 20);
  EXPECT_EQ(more["windows"], 100 + 20);
}

TEST_F(WindowSourceTest, DescriptionContainsTheVocabularyOfTheStore) {
  write_store(dir_.file("f0.tokens"), 0, 50, {.size = 60, .crc32c = 17});
  const auto description = open().description();
  ASSERT_TRUE(description);
  EXPECT_EQ(description->vocabulary_crc32c, 17u);
  io::write_file(dir_.file("vocab.txt"), "a\nb\n");
  EXPECT_THAT(error_of<UsageError>([&] {
                check_description(*description,
                                  {.examples = 3, .vocab = dir_.file("vocab.txt"), .settings = {}});
              }),
              HasSubstr("f0.tokens: the vocabulary's CRC-32C (of the tokens) is 17, expected"));
  write({50});
  EXPECT_FALSE(open().description());
}

TEST_F(WindowSourceTest, ThrowsForInvalidDataAndOptions) {
  write({50});
  RecordOptions options = options_of(stores());
  options.features.front().limit = 32;
  const std::string hint = "\n  hint: give tokens that were made with this vocabulary";
  EXPECT_THAT(error_of<UsageError>([&] { open_examples(options); }),
              HasSubstr("f0.tokens: contains the id 49, out of range for vocab_size 32" + hint));
  options.features.front().row = {51};
  EXPECT_THAT(
      error_of<UsageError>([&] { open_examples(options); }),
      HasSubstr("f0.tokens: too short for a window: the longest file has 50 tokens\n  hint: give"));
  options.features = test_features();
  EXPECT_THAT(
      error_of<UsageError>([&] { open_examples(options); }),
      HasSubstr("f0.tokens: contains only tokens, but training needs input_ids, input_mask"));
  EXPECT_THAT(error_of<UsageError>([&] { open_examples(options_of(dir_.file("none-*"))); }),
              HasSubstr("training data: no file matches '"));
  write_test_examples(dir_.file("f1.tokens"), 0, 3);
  EXPECT_THAT(error_of<UsageError>([&] { open_examples(options_of(stores())); }),
              HasSubstr("f1.tokens: not a token store or a snapshot folder"));
}

// The snapshots do not store their largest id.
TEST_F(WindowSourceTest, ReportsIdsOutOfRange) {
  RecordOptions options = options_of(dir_.file("s"));
  options.features.front().limit = 50;
  const auto with = [&](std::size_t token) {
    TestSnapshot snapshot = dealt_out(0, 50, 1);
    snapshot.shards[0][token] = {70};
    write_test_snapshot(dir_.file("s"), snapshot);
    return str("s: token ", token, " is 70, out of range for vocab_size 50\n  hint: give tokens");
  };
  for (const std::size_t token : {0, 4, 45, 49}) {
    const std::string wanted = with(token);
    EXPECT_THAT(error_of<UsageError>([&] { open_examples(options); }), HasSubstr(wanted));
  }
  const std::string wanted = with(32);
  const auto source = open_examples(options);
  EXPECT_THAT(error_of<UsageError>([&] { (void)source->batch_in_order(0, 10); }),
              HasSubstr(wanted));
  EXPECT_THAT(error_of<UsageError>([&] { (void)source->batch(0, 64); }), HasSubstr(wanted));
}

TEST_F(WindowSourceTest, OpenExamplesAlsoOpensRecords) {
  write_test_examples(dir_.file("a.tfrecord"), 0, 7);
  const auto source =
      open_examples({.input = dir_.file("a.tfrecord"), .features = test_features(), .seed = 1});
  EXPECT_EQ(source->size(), 7u);
  EXPECT_EQ(source->batch(0, 4).arrays.size(), 7u);
}

}  // namespace
}  // namespace smelt::data
