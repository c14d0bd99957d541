#include "data/record_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "data/bert_prefetch.h"
#include "store/file.h"
#include "support/bert_records.h"
#include "support/paths.h"

namespace smelt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

BertRecordOptions options_for(const std::string& input) {
  return {.input = input,
          .seq_length = 8,
          .max_predictions = 2,
          .vocab_size = 100,
          .type_vocab_size = 2,
          .seed = 1};
}

// Two files of 7 and 13 examples numbered 0..19, which masked_lm_ids tells.
class RecordSource : public testing::Test {
 protected:
  RecordSource() {
    write_test_examples(dir_.file("a-0.tfrecord"), 0, 7);
    write_test_examples(dir_.file("a-1.tfrecord"), 7, 13);
  }
  BertRecordOptions options() const { return options_for(dir_.file("a-*.tfrecord")); }
  static std::vector<int> numbers(const BertBatch& batch) {
    std::vector<int> out;
    for (std::size_t i = 0; i < batch.masked_lm_ids.size(); i += 2)
      out.push_back(batch.masked_lm_ids[i]);
    return out;
  }
  std::string message_of(const BertRecordOptions& options) const {
    try {
      const BertRecordSource source(options);
      (void)source.batch(0, static_cast<std::int64_t>(source.size()));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
  // The message for one file of three examples, of which the last is spoilt.
  std::string message_with(const std::function<void(TestExample&)>& spoil) const {
    const std::string path = dir_.file("bad.tfrecord");
    write_test_examples(path, 0, 3, [&](int number, TestExample& example) {
      if (number == 2) spoil(example);
    });
    return message_of(options_for(path));
  }
  TempDir dir_;
};

TEST_F(RecordSource, ReadsTheFeaturesInFileOrder) {
  const BertRecordSource source(options());
  EXPECT_EQ(source.size(), 20u);
  const BertBatch batch = source.batch_in_order(0, 2);
  EXPECT_EQ(batch.batch, 2);
  EXPECT_EQ(batch.seq_length, 8);
  EXPECT_EQ(batch.max_predictions, 2);
  EXPECT_THAT(batch.input_ids, ElementsAre(2, 10, 4, 3, 11, 3, 0, 0, 2, 11, 4, 3, 11, 3, 0, 0));
  EXPECT_THAT(batch.input_mask, ElementsAre(1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0));
  EXPECT_THAT(batch.segment_ids, ElementsAre(0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0));
  EXPECT_THAT(batch.masked_lm_positions, ElementsAre(2, 0, 2, 0));
  EXPECT_THAT(batch.masked_lm_ids, ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(batch.masked_lm_weights, ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(batch.next_sentence_labels, ElementsAre(0, 1));
}

TEST_F(RecordSource, EvaluationBeginsAgainAfterTheLastRecord) {
  const BertRecordSource source(options());
  EXPECT_EQ(source.whole_batches(8), 2u);
  EXPECT_THAT(numbers(source.batch_in_order(0, 8)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(numbers(source.batch_in_order(2, 8)), ElementsAre(16, 17, 18, 19, 0, 1, 2, 3));
}

TEST_F(RecordSource, EveryEpochHoldsEveryRecordOnceInAnotherOrder) {
  const BertRecordSource source(options());
  std::vector<std::vector<int>> epochs(3);
  for (std::uint64_t step = 0; step < 60 / 3;
       ++step) {  // batches of 3 straddle the epochs' borders
    const auto batch = numbers(source.batch(step, 3));
    for (std::size_t i = 0; i < 3; ++i) epochs[(step * 3 + i) / 20].push_back(batch[i]);
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

TEST_F(RecordSource, ABatchDependsOnSeedAndStepAndNotOnWhatWasReadBefore) {
  const BertRecordSource source(options()), resumed(options());
  std::vector<std::vector<int>> batches;
  for (std::uint64_t step = 0; step < 12; ++step) batches.push_back(numbers(source.batch(step, 4)));
  for (std::uint64_t step = 12; step-- > 0;)
    EXPECT_EQ(numbers(resumed.batch(step, 4)), batches[step]) << step;
  BertRecordOptions other = options();
  other.seed = 2;
  EXPECT_NE(numbers(BertRecordSource(other).batch(0, 20)), numbers(source.batch(0, 20)));
}

TEST_F(RecordSource, TheHostsBatchesAreTogetherTheBatchOfOneHost) {
  const BertRecordSource source(options());
  const std::int64_t size = 12;
  for (const std::int64_t hosts : {1, 2, 3, 4, 6, 12})
    for (std::uint64_t step = 0; step < 5; ++step) {  // over the border of epochs and of files
      std::vector<int> shuffled, in_order;
      for (std::int64_t host = 0; host < hosts; ++host) {
        const BertBatch part = source.batch(step, size, {host, hosts});
        EXPECT_EQ(part.batch, size / hosts);
        std::ranges::copy(numbers(part), std::back_inserter(shuffled));
        std::ranges::copy(numbers(source.batch_in_order(step, size, {host, hosts})),
                          std::back_inserter(in_order));
      }
      EXPECT_EQ(shuffled, numbers(source.batch(step, size))) << hosts;
      EXPECT_EQ(in_order, numbers(source.batch_in_order(step, size))) << hosts;
    }
}

TEST_F(RecordSource, HostsThatCannotShareABatchEquallyAreRefused) {
  const BertRecordSource source(options());
  try {
    (void)source.batch(0, 10, {0, 4});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr(
            "a batch of 10 examples for 4 hosts\n  hint: take a batch size that is a multiple"));
  }
}

TEST_F(RecordSource, PrefetchGivesTheBatchesOfTheFollowingStepsWithAnyDepthAndThreads) {
  const BertRecordSource source(options());
  for (const int depth : {0, 1, 2, 7})
    for (const int threads : {0, 1, 3, 9}) {
      BertPrefetch prefetch(source, 4, 5,
                            {.share = {.host = 1, .hosts = 2}, .depth = depth, .threads = threads});
      for (std::uint64_t step = 5; step < 25; ++step)
        ASSERT_EQ(prefetch.next().input_ids, source.batch(step, 4, {1, 2}).input_ids)
            << depth << " " << threads;
    }
}

TEST_F(RecordSource, PrefetchThrowsAtTheStepWhoseRecordsAreBad) {
  write_test_examples(dir_.file("a-1.tfrecord"), 7, 13, [](int number, TestExample& example) {
    if (number == 12) example.input_ids[2] = 777;
  });
  const BertRecordSource source(options());
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
  BertPrefetch prefetch(source, 2, 0, {.share = {}, .depth = 4, .threads = 3});
  for (std::uint64_t step = 0; step < bad; ++step)
    EXPECT_FALSE(fails([&] { prefetch.next(); })) << step;
  EXPECT_TRUE(fails([&] { prefetch.next(); }));
}

TEST_F(RecordSource, TellsEachRecordsLengthWithAndWithoutAnIndex) {
  write_test_examples(dir_.file("a-0.tfrecord"), 0, 7, [](int number, TestExample& example) {
    for (int i = 0; i < number; ++i) example.input_mask[static_cast<std::size_t>(7 - i)] = 0;
  });
  const std::vector<std::uint32_t> wanted{6, 6, 6, 5, 4, 3, 2, 6, 6, 6,
                                          6, 6, 6, 6, 6, 6, 6, 6, 6, 6};
  EXPECT_EQ(BertRecordSource(options()).lengths(), wanted);
  index_bert_records(dir_.file("a-0.tfrecord"));
  EXPECT_EQ(BertRecordSource(options()).lengths(), wanted);
}

TEST_F(RecordSource, OtherLengthsThanTheCallersAreRefusedWithBoth) {
  BertRecordOptions options = this->options();
  options.seq_length = 128;
  EXPECT_THAT(message_of(options), HasSubstr("a-0.tfrecord: record 0: seq_length is 8, not 128"));
  EXPECT_THAT(message_of(options), HasSubstr("hint: set seq_length to 8"));
  options = this->options();
  options.max_predictions = 20;
  EXPECT_THAT(message_of(options), HasSubstr("max_predictions is 2, not 20"));
}

TEST_F(RecordSource, ValuesOutOfRangeAreNamedByFileRecordAndPlace) {
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

TEST_F(RecordSource, ListsOfAnotherLengthAreRefused) {
  EXPECT_THAT(message_with([](TestExample& e) { e.input_ids.push_back(0); }),
              HasSubstr("bad.tfrecord: record 2: input_ids has 9 values, not 8"));
  EXPECT_THAT(message_with([](TestExample& e) { e.masked_lm_weights.clear(); }),
              HasSubstr("record 2: masked_lm_weights has 0 values, not 2"));
}

TEST_F(RecordSource, DamagedFilesAreNamedWithTheOffset) {
  const std::string path = dir_.file("a-1.tfrecord");
  std::string bytes = read_file(path);
  write_file(path, bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(message_of(options()), HasSubstr("a-1.tfrecord: record at offset "));
  EXPECT_THAT(message_of(options()), HasSubstr(": cut short: "));
  bytes[40] = static_cast<char>(bytes[40] ^ 1);
  write_file(path, bytes);
  EXPECT_THAT(message_of(options()), HasSubstr("a-1.tfrecord: record at offset 0: data checksum "));
}

TEST_F(RecordSource, MissingAndEmptyFilesAreRefused) {
  EXPECT_THAT(message_of(options_for(dir_.file("none-*"))), HasSubstr("no file matches"));
  write_file(dir_.file("empty.tfrecord"), "");
  EXPECT_THAT(message_of(options_for(dir_.file("empty.tfrecord"))),
              HasSubstr("empty.tfrecord: no records"));
}

}  // namespace
}  // namespace smelt
