#include "data/input_pipeline/record_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "base/json.h"
#include "data/input_pipeline/fingerprint.h"
#include "data/input_pipeline/prefetch.h"
#include "data/input_pipeline/record_tokens.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/crc32c.h"
#include "support/bert_records.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/thread_limit.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RecordOptions options_for(const std::string& input) {
  return {.input = input, .features = test_features(), .seed = 1};
}

std::vector<std::int32_t> integers(const Batch& batch, std::size_t feature) {
  const auto values = batch.arrays[feature].values<std::int32_t>();
  return {values.begin(), values.end()};
}

// Two files of 7 and 13 examples numbered 0..19 by masked_lm_ids.
class RecordSourceTest : public testing::Test {
 protected:
  RecordSourceTest() {
    write_test_examples(dir_.file("a-0.tfrecord"), 0, 7);
    write_test_examples(dir_.file("a-1.tfrecord"), 7, 13);
  }
  RecordOptions options() const { return options_for(dir_.file("a-*.tfrecord")); }
  static std::vector<int> numbers(const Batch& batch) {
    std::vector<int> out;
    const auto ids = batch.arrays[4].values<std::int32_t>();
    for (std::size_t i = 0; i < ids.size(); i += 2) out.push_back(ids[i]);
    return out;
  }
  std::string message_of(const RecordOptions& options) const {
    try {
      const RecordSource source(options);
      (void)source.batch(0, static_cast<std::int64_t>(source.size()));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
  // Returns the error for a file of three examples, the last of which is changed by `spoil`.
  std::string message_with(const std::function<void(TestExample&)>& spoil) const {
    const std::string path = dir_.file("bad.tfrecord");
    write_test_examples(path, 0, 3, [&](int number, TestExample& example) {
      if (number == 2) spoil(example);
    });
    return message_of(options_for(path));
  }
  TempDir dir_;
};

TEST_F(RecordSourceTest, ReadsTheFeaturesInFileOrder) {
  const RecordSource source(options());
  EXPECT_EQ(source.size(), 20u);
  const Batch batch = source.batch_in_order(0, 2);
  EXPECT_EQ(batch.rows, 2);
  ASSERT_EQ(batch.arrays.size(), 7u);
  EXPECT_EQ(batch.arrays[0].shape, (compiler::Shape{compiler::DType::s32, {2, 8}}));
  EXPECT_EQ(batch.arrays[5].shape, (compiler::Shape{compiler::DType::f32, {2, 2}}));
  EXPECT_EQ(batch.arrays[6].shape, (compiler::Shape{compiler::DType::s32, {2, 1}}));
  EXPECT_THAT(integers(batch, 0), ElementsAre(2, 10, 4, 3, 11, 3, 0, 0, 2, 11, 4, 3, 11, 3, 0, 0));
  EXPECT_THAT(integers(batch, 1), ElementsAre(1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0));
  EXPECT_THAT(integers(batch, 2), ElementsAre(0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0));
  EXPECT_THAT(integers(batch, 3), ElementsAre(2, 0, 2, 0));
  EXPECT_THAT(integers(batch, 4), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(batch.arrays[5].values<float>(), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(integers(batch, 6), ElementsAre(0, 1));
}

TEST_F(RecordSourceTest, ReadsNumericFeaturesInAnyOrderAndIgnoresOthers) {
  RecordOptions options = this->options();
  options.features = {{.name = "masked_lm_weights", .dtype = compiler::DType::f32, .row = {2, 1}},
                      {"input_ids", compiler::DType::s32, {2, 4}, 50, "colours"},
                      {"next_sentence_labels", compiler::DType::s32, {}, 2, "labels of"}};
  const Batch batch = RecordSource(options).batch_in_order(1, 3);
  EXPECT_EQ(batch.arrays[0].shape, (compiler::Shape{compiler::DType::f32, {3, 2, 1}}));
  EXPECT_THAT(batch.arrays[0].values<float>(), ElementsAre(1, 0, 1, 0, 1, 0));
  EXPECT_EQ(batch.arrays[1].shape, (compiler::Shape{compiler::DType::s32, {3, 2, 4}}));
  EXPECT_EQ(integers(batch, 1)[8 + 1], 10 + 4);
  EXPECT_EQ(batch.arrays[2].shape, (compiler::Shape{compiler::DType::s32, {3}}));
  EXPECT_THAT(integers(batch, 2), ElementsAre(1, 0, 1));
  options.features[1].limit = 11;
  EXPECT_THAT(
      message_of(options),
      HasSubstr("a-0.tfrecord: record 0: input_ids[4] = 11 is out of range for colours 11"));
  options.features = {{"title", compiler::DType::s32, {}, 2, "titles"}};
  EXPECT_THAT(message_of(options),
              HasSubstr("a-0.tfrecord: record 0: no feature 'title'; it has:"));
  options.features = {{.name = "input_ids", .dtype = compiler::DType::f32, .row = {8}}};
  EXPECT_THAT(message_of(options), HasSubstr("feature 'input_ids' is not a list of reals"));
}

TEST_F(RecordSourceTest, EvaluationWrapsAroundAfterTheLastRecord) {
  const RecordSource source(options());
  EXPECT_EQ(source.full_batches(8), 2u);
  EXPECT_THAT(numbers(source.batch_in_order(0, 8)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(numbers(source.batch_in_order(2, 8)), ElementsAre(16, 17, 18, 19, 0, 1, 2, 3));
}

TEST_F(RecordSourceTest, EachEpochContainsEveryRecordOnceInANewOrder) {
  const RecordSource source(options());
  std::vector<std::vector<int>> epochs(3);
  for (std::uint64_t step = 0; step < 60 / 3; ++step) {  // batches straddle the epochs' borders
    const auto batch = numbers(source.batch(step, 3));
    const auto positions = positions_of_rows(step, 3, 0, 3);
    for (std::size_t i = 0; i < 3; ++i) epochs[positions[i] / 20].push_back(batch[i]);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
  for (auto& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    std::vector<int> every(20);
    std::iota(every.begin(), every.end(), 0);
    EXPECT_EQ(epoch, every);
  }
}

TEST_F(RecordSourceTest, BatchDependsOnlyOnSeedAndStep) {
  const RecordSource source(options()), resumed(options());
  std::vector<std::vector<int>> batches;
  for (std::uint64_t step = 0; step < 12; ++step) batches.push_back(numbers(source.batch(step, 4)));
  for (std::uint64_t step = 12; step-- > 0;)
    EXPECT_EQ(numbers(resumed.batch(step, 4)), batches[step]) << step;
  RecordOptions other = options();
  other.seed = 2;
  EXPECT_NE(numbers(RecordSource(other).batch(0, 20)), numbers(source.batch(0, 20)));
}

// The order for given files and seed must never change; see tests/golden/record_order.json.
TEST_F(RecordSourceTest, FirstBatchMatchesTheGoldenOrder) {
  EXPECT_THAT(numbers(RecordSource(options()).batch(0, 20)),
              ElementsAre(15, 17, 14, 8, 5, 6, 16, 7, 11, 9, 0, 4, 13, 10, 12, 3, 18, 19, 1, 2));
}

TEST_F(RecordSourceTest, BatchesOfAllHostsFormTheBatchOfOneHost) {
  const RecordSource source(options());
  const std::int64_t size = 12;
  for (const std::int64_t hosts : {1, 2, 3, 4, 6, 12})
    for (std::uint64_t step = 0; step < 5; ++step) {  // over the border of epochs and of files
      std::vector<int> shuffled, in_order;
      for (std::int64_t host = 0; host < hosts; ++host) {
        const Batch part = source.batch(step, size, {host, hosts});
        EXPECT_EQ(part.rows, size / hosts);
        std::ranges::copy(numbers(part), std::back_inserter(shuffled));
        std::ranges::copy(numbers(source.batch_in_order(step, size, {host, hosts})),
                          std::back_inserter(in_order));
      }
      EXPECT_EQ(shuffled, numbers(source.batch(step, size))) << hosts;
      EXPECT_EQ(in_order, numbers(source.batch_in_order(step, size))) << hosts;
    }
}

TEST_F(RecordSourceTest, RejectsABatchSizeThatTheHostsDoNotDivide) {
  const RecordSource source(options());
  try {
    (void)source.batch(0, 10, {0, 4});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr(
            "a batch of 10 examples does not divide over 4 hosts\n  hint: use a batch size that"));
  }
}

TEST_F(RecordSourceTest, PrefetchReturnsTheSameBatchesWithAnyDepthAndThreads) {
  const RecordSource source(options());
  for (const int depth : {0, 1, 2, 7})
    for (const int threads : {0, 1, 3, 9}) {
      Prefetch prefetch(source, 4, 5,
                        {.share = {.host = 1, .hosts = 2}, .depth = depth, .threads = threads});
      for (std::uint64_t step = 5; step < 25; ++step)
        ASSERT_EQ(values_of(prefetch.next()), values_of(source.batch(step, 4, {1, 2})))
            << depth << " " << threads;
    }
}

TEST_F(RecordSourceTest, PrefetchThrowsAtTheStepOfABadRecord) {
  write_test_examples(dir_.file("a-1.tfrecord"), 7, 13, [](int number, TestExample& example) {
    if (number == 12) example.input_ids[2] = 777;
  });
  const RecordSource source(options());
  std::uint64_t bad = 0;
  const auto fails = [&](auto&& read) {
    try {
      read();
      return false;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("a-1.tfrecord: record 5: input_ids[2] = 777"));
      return true;
    }
  };
  while (!fails([&] { (void)source.batch(bad, 2); })) ++bad;
  Prefetch prefetch(source, 2, 0, {.share = {}, .depth = 4, .threads = 3});
  for (std::uint64_t step = 0; step < bad; ++step)
    EXPECT_FALSE(fails([&] { prefetch.next(); })) << step;
  EXPECT_TRUE(fails([&] { prefetch.next(); }));
}

TEST_F(RecordSourceTest, PrefetchThrowsIfThreadsCannotBeStarted) {
  const RecordSource source(options());
  const ThreadLimit limit(2);
  EXPECT_THAT(error_of<SystemError>(
                  [&] { Prefetch(source, 2, 0, {.share = {}, .depth = 1, .threads = 5}); }),
              HasSubstr("prefetch: thread 3 of 5 cannot be started: "));
}

TEST_F(RecordSourceTest, ReturnsTokenCountsWithAndWithoutAnIndex) {
  write_test_examples(dir_.file("a-0.tfrecord"), 0, 7, [](int number, TestExample& example) {
    for (int i = 0; i < number; ++i) example.input_mask[static_cast<std::size_t>(7 - i)] = 0;
  });
  const std::vector<std::uint32_t> wanted{6, 6, 6, 5, 4, 3, 2, 6, 6, 6,
                                          6, 6, 6, 6, 6, 6, 6, 6, 6, 6};
  const auto counts = [&] { return token_counts(RecordSource(options()).index(), kTokenMask); };
  EXPECT_EQ(counts(), wanted);
  index_records(dir_.file("a-0.tfrecord"));
  EXPECT_EQ(counts(), wanted);
}

TEST_F(RecordSourceTest, RejectsAnotherFeatureLengthWithBothValues) {
  RecordOptions options = this->options();
  options.features[0].row = {128};
  EXPECT_THAT(
      message_of(options),
      HasSubstr("a-0.tfrecord: record 0: input_ids has 8 values, not 128\n  hint: set the lengths "
                "to those that `smelt data inspect` shows, or make the data again"));
}

TEST_F(RecordSourceTest, NamesTheFirstOfSeveralBadFiles) {
  for (int file = 0; file < 30; ++file)
    write_test_examples(dir_.file(str("b-", 10 + file)), 0, 2, [&](int, TestExample& example) {
      if (file % 10 == 7) example.input_ids[1] = 100 + file;
    });
  EXPECT_THAT(message_of(options_for(dir_.file("b-*"))),
              HasSubstr("b-17: record 0: input_ids[1] = 107"));
}

TEST_F(RecordSourceTest, RejectsBatchSizesBelowOne) {
  const RecordSource source(options());
  for (const std::int64_t size : {0, -3}) {
    const std::string wanted =
        str("batch size ", size, ": must be at least 1\n  hint: use a larger batch size");
    EXPECT_EQ(error_of<UsageError>([&] { (void)source.full_batches(size); }), wanted);
    EXPECT_EQ(error_of<UsageError>([&] { (void)source.batch(0, size); }), wanted);
    EXPECT_EQ(error_of<UsageError>([&] { (void)source.batch_in_order(0, size); }), wanted);
  }
}

TEST_F(RecordSourceTest, TheFingerprintDistinguishesData) {
  const auto fingerprint = [&] { return data_fingerprint(RecordSource(options())); };
  const auto before = fingerprint();
  EXPECT_EQ(before["records"], 20);
  std::string all;
  const RecordSource source(options());
  for (std::uint64_t i = 0; i < 64; ++i)
    for (const std::byte value : values_of(source.batch_in_order(i * 19 / 63, 1)))
      all.push_back(static_cast<char>(value));
  EXPECT_EQ(before["crc32c"], io::crc32c(all));
  write_test_examples(dir_.file("a-1.tfrecord"), 7, 13, [](int number, TestExample& example) {
    if (number == 19) example.masked_lm_weights[1] = 0.5;
  });
  EXPECT_NE(fingerprint()["crc32c"], before["crc32c"]);
  write_test_examples(dir_.file("a-1.tfrecord"), 7, 13);
  EXPECT_EQ(fingerprint(), before);
}

TEST_F(RecordSourceTest, ReportsFileRecordAndPositionOfAValueOutOfRange) {
  EXPECT_THAT(message_with([](TestExample&) {}), IsEmpty());
  EXPECT_THAT(
      message_with([](TestExample& e) { e.input_ids[5] = 100; }),
      HasSubstr("bad.tfrecord: record 2: input_ids[5] = 100 is out of range for vocab_size 100"));
  EXPECT_THAT(message_with([](TestExample& e) { e.input_ids[0] = -1; }),
              HasSubstr("input_ids[0] = -1 is out of range for vocab_size 100"));
  EXPECT_THAT(message_with([](TestExample& e) { e.masked_lm_ids[1] = 30600; }),
              HasSubstr("masked_lm_ids[1] = 30600 is out of range for vocab_size 100"));
  EXPECT_THAT(message_with([](TestExample& e) { e.masked_lm_positions[0] = 8; }),
              HasSubstr("masked_lm_positions[0] = 8 is out of range for seq_length 8"));
  EXPECT_THAT(message_with([](TestExample& e) { e.segment_ids[3] = 2; }),
              HasSubstr("segment_ids[3] = 2 is out of range for type_vocab_size 2"));
}

TEST_F(RecordSourceTest, RejectsListsOfAnotherLength) {
  EXPECT_THAT(message_with([](TestExample& e) { e.input_ids.push_back(0); }),
              HasSubstr("bad.tfrecord: record 2: input_ids has 9 values, not 8"));
  EXPECT_THAT(message_with([](TestExample& e) { e.masked_lm_weights.clear(); }),
              HasSubstr("record 2: masked_lm_weights has 0 values, not 2"));
}

TEST_F(RecordSourceTest, ReportsTheOffsetInADamagedFile) {
  const std::string path = dir_.file("a-1.tfrecord");
  std::string bytes = io::read_file(path);
  io::write_file(path, bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(message_of(options()), HasSubstr("a-1.tfrecord: record at offset "));
  EXPECT_THAT(message_of(options()), HasSubstr(": truncated: "));
  bytes[40] = static_cast<char>(bytes[40] ^ 1);
  io::write_file(path, bytes);
  EXPECT_THAT(message_of(options()), HasSubstr("a-1.tfrecord: record at offset 0: data checksum "));
}

TEST_F(RecordSourceTest, RejectsRecordsOfAnotherKindByDescriptionOrFeature) {
  RecordOptions options = this->options();
  options.kind = "electra";
  EXPECT_EQ(message_of(options), "");
  options.foreign = {{.name = "masked_lm_positions", .kind = "bert"}};
  EXPECT_THAT(
      message_of(options),
      HasSubstr(
          "a-0.tfrecord: record 0: masked_lm_positions is a feature of examples for bert, not "
          "electra\n  hint: give records that were made for electra"));
  options.foreign = {{.name = "another", .kind = "bert"}};
  EXPECT_EQ(message_of(options), "");
  const auto describe = [&](const std::string& name, const std::string& file) {
    io::write_file(dir_.file(name), str(R"({"kind": "bert", "files": [")", file, R"("]})"));
  };
  // In a folder with other records too, a description applies to the files that it lists.
  describe("smelt-data.json", "b.tfrecord");
  EXPECT_EQ(message_of(options), "");
  EXPECT_EQ(RecordSource(options_for(dir_.file("*"))).size(), 20u);
  for (const std::string name : {"smelt-data.json", "a-0.tfrecord.json"}) {
    describe(name, "a-0.tfrecord");
    EXPECT_THAT(message_of(options), HasSubstr(name + ": describes examples for bert, not "
                                                      "electra\n  hint: give records that"));
    io::remove_file(dir_.file(name));
  }
}

TEST_F(RecordSourceTest, LogsMissingFilesOfTheDescription) {
  const CapturedLog log;
  io::write_file(dir_.file("a-0.tfrecord.json"),
                 R"({"kind": "bert", "files": ["a-0.tfrecord", "a-1.tfrecord"], "examples": 99})");
  const RecordSource all(options_for(dir_.file("a-*.tfrecord")));
  EXPECT_EQ(log.text(), "");
  const RecordSource one(options_for(dir_.file("a-0.tfrecord")));
  EXPECT_THAT(log.text(),
              HasSubstr(str("a-0.tfrecord.json: 2 files in the description, 1 of them not given "
                            "(a-1.tfrecord); the given files contain ",
                            one.size(), " examples of 99")));
}

TEST_F(RecordSourceTest, RejectsMissingAndEmptyFiles) {
  EXPECT_THAT(message_of(options_for(dir_.file("none-*"))), HasSubstr("no file matches"));
  io::write_file(dir_.file("empty.tfrecord"), "");
  EXPECT_THAT(message_of(options_for(dir_.file("empty.tfrecord"))),
              HasSubstr("empty.tfrecord: no records"));
}

}  // namespace
}  // namespace smelt::data
