// Properties of the shuffled order of BERT's pairs: it does not depend on the number of threads,
// the memory or how the text is split into files; and the contents of examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "data/input_pipeline/record_tokens.h"
#include "data/preprocess/bert_examples.h"
#include "data/preprocess/small_corpus.h"
#include "data/preprocess/text_corpus.h"
#include "io/filesystem/file.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "support/captured_log.h"
#include "support/file_size_limit.h"

namespace smelt::data {
namespace {

using testing::HasSubstr;

const std::string kVocabulary = golden_vocabulary();

class ShuffledOrder : public testing::Test {
 protected:
  void write(const std::string& name, std::size_t first, std::size_t last) {
    std::string text;
    for (std::size_t i = first; i < last; ++i) text += documents_[i];
    io::write_file(dir_.file(name), text);
  }
  BertExamplesJob job(const std::string& input, const std::string& output) {
    BertExamplesJob job;
    job.text.input = dir_.file(input);
    job.vocab = kVocabulary;
    job.output = dir_.file(output);
    job.pairs.seq_length = 64;
    job.pairs.max_predictions = 10;
    job.pairs.dupe_factor = 3;
    return job;
  }
  std::string bytes(const BertExamplesJob& job) {
    build_bert_examples(job);
    EXPECT_FALSE(std::filesystem::exists(job.output + ".work"));
    return io::read_file(job.output);
  }
  std::string refusal(const BertExamplesJob& job) {
    try {
      build_bert_examples(job);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  CapturedLog log_;
  TempDir dir_;
  std::vector<std::string> documents_ = make_documents(300);
};

TEST_F(ShuffledOrder, DoesNotDependOnThreadsMemoryOrInputFiles) {
  write("in.txt", 0, documents_.size());
  write("a.txt", 0, 1);
  write("b.txt", 1, 200);
  write("c.txt", 200, 300);
  const std::string whole = bytes(job("in.txt", "out"));
  for (const int threads : {1, 2, 5}) {
    BertExamplesJob other = job("in.txt", str("threads", threads));
    other.threads = threads;
    other.memory = std::int64_t{256} << 20;
    EXPECT_EQ(bytes(other), whole) << threads;
  }
  BertExamplesJob cut = job("a.txt", "cut");
  cut.text.input += "," + dir_.file("b.txt") + "," + dir_.file("c.txt");
  EXPECT_EQ(bytes(cut), whole);
}

TEST_F(ShuffledOrder, ShardsConcatenateToTheSingleFile) {
  write("in.txt", 0, documents_.size());
  const std::string whole = bytes(job("in.txt", "out"));
  BertExamplesJob sharded = job("in.txt", "train.tfrecord");
  sharded.shards = 7;
  build_bert_examples(sharded);
  std::string joined;
  for (int i = 0; i < 7; ++i)
    joined += io::read_file(dir_.file(str("train-0000", i, "-of-00007.tfrecord")));
  EXPECT_EQ(joined, whole);
}

// Returns the tokens before masking, restored from the labels.
std::vector<std::int64_t> unmasked(const io::Example& example) {
  std::vector<std::int64_t> ids = example.integers("input_ids");
  const auto& positions = example.integers("masked_lm_positions");
  const auto& labels = example.integers("masked_lm_ids");
  const auto& weights = example.reals("masked_lm_weights");
  for (std::size_t i = 0; i < positions.size(); ++i)
    if (weights[i] > 0) ids[static_cast<std::size_t>(positions[i])] = labels[i];
  const auto& mask = example.integers("input_mask");
  ids.resize(static_cast<std::size_t>(std::ranges::count(mask, 1)));
  return ids;
}

TEST_F(ShuffledOrder, WithoutNextSentencesEveryTokenOccursOncePerPass) {
  write("in.txt", 0, 40);
  BertExamplesJob runs = job("in.txt", "out");
  runs.pairs.next_sentence = false;
  const std::string file = bytes(runs);
  const CorpusReader reader(kVocabulary, {});
  CorpusCounts counts;
  const TokenCorpus corpus = reader.read({dir_.file("in.txt")}, false, counts);
  std::map<std::int64_t, std::int64_t> found, wanted;
  for (const std::int32_t id : corpus.ids()) wanted[id] += 3;
  io::RecordReader records(file);
  while (const auto record = records.next()) {
    const io::Example example(*record, "out");
    EXPECT_EQ(example.integers("next_sentence_labels")[0], 0);
    EXPECT_EQ(std::ranges::count(example.integers("segment_ids"), 0), 64);
    const std::vector<std::int64_t> ids = unmasked(example);
    EXPECT_EQ(ids.front(), reader.mask_vocabulary().cls);
    EXPECT_EQ(ids.back(), reader.mask_vocabulary().sep);
    for (std::size_t i = 1; i + 1 < ids.size(); ++i) ++found[ids[i]];
  }
  EXPECT_EQ(found, wanted);
}

TEST_F(ShuffledOrder, MaskingRatesMatchTheOriginal) {
  write("in.txt", 0, documents_.size());
  BertExamplesJob many = job("in.txt", "out");
  many.pairs.dupe_factor = 20;
  const std::string file = bytes(many);
  const std::int64_t mask = CorpusReader(kVocabulary, {}).mask_vocabulary().mask;
  double masked = 0, replaced = 0, kept = 0, random_next = 0, examples = 0;
  io::RecordReader records(file);
  while (const auto record = records.next()) {
    const io::Example example(*record, "out");
    const std::vector<std::int64_t> ids = unmasked(example);
    const auto& weights = example.reals("masked_lm_weights");
    const auto count = std::ranges::count(weights, 1.0f);
    EXPECT_EQ(count, std::clamp<long>(std::lrint(0.15 * static_cast<double>(ids.size())), 1, 10));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto position = static_cast<std::size_t>(example.integers("masked_lm_positions")[i]);
      const std::int64_t shown = example.integers("input_ids")[position];
      masked += 1;
      replaced += shown == mask ? 1 : 0;
      kept += shown == ids[position] ? 1 : 0;
    }
    random_next += static_cast<double>(example.integers("next_sentence_labels")[0]);
    examples += 1;
  }
  // Within five standard deviations of 80, 10 (and 1 in 1000 by chance the same word) and, as
  // one-sentence chunks always draw B, somewhat above 50 %.
  EXPECT_NEAR(replaced / masked, 0.8, 5 * std::sqrt(0.8 * 0.2 / masked));
  EXPECT_NEAR(kept / masked, 0.1, 5 * std::sqrt(0.1 * 0.9 / masked) + 0.001);
  EXPECT_GT(random_next / examples, 0.5);
  EXPECT_LT(random_next / examples, 0.8);
}

TEST_F(ShuffledOrder, NeverOverwritesItsInputs) {
  write("in.txt", 0, 3);
  BertExamplesJob wrong = job("in.txt", "in.txt");
  wrong.overwrite = true;
  EXPECT_THAT(refusal(wrong), HasSubstr("in.txt is also an input, which it would replace"));
  std::filesystem::create_symlink(dir_.file("in.txt"), dir_.file("link.json"));
  wrong.output = dir_.file("link");  // its description would be link.json
  EXPECT_THAT(refusal(wrong), HasSubstr("link.json is also an input"));
  wrong.output = wrong.vocab;
  EXPECT_THAT(refusal(wrong), HasSubstr("is also an input"));
}

// One document of 4000 tokens: a tenth of the examples, and not of the documents, is shorter.
TEST_F(ShuffledOrder, WithoutNextSentencesEachRunDrawsItsLength) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += i % 10 == 9 ? "the\n" : "the ";
  io::write_file(dir_.file("in.txt"), text);
  BertExamplesJob runs = job("in.txt", "out");
  runs.pairs = {.seq_length = 42, .dupe_factor = 10, .short_seq_prob = 0.1, .next_sentence = false};
  build_bert_examples(runs);
  std::map<std::size_t, int> lengths;
  const std::string file = io::read_file(runs.output);
  io::RecordReader records(file);
  while (const auto record = records.next())
    ++lengths[unmasked(io::Example(*record, "out")).size()];
  int all = 0;
  for (const auto& [length, count] : lengths) all += count;
  EXPECT_GT(lengths[42], all * 0.85);
  EXPECT_LT(lengths[42], all * 0.95);
  EXPECT_GT(lengths.size(), 20u);
}

TEST_F(ShuffledOrder, RejectsConflictingOptions) {
  write("in.txt", 0, 3);
  BertExamplesJob wrong = job("in.txt", "out");
  wrong.order = ExampleOrder::original;
  wrong.pairs.next_sentence = false;
  EXPECT_THAT(refusal(wrong), HasSubstr("order original always draws next sentences"));
  wrong.pairs.next_sentence = true;
  wrong.text.max_lines = 5;
  EXPECT_THAT(refusal(wrong), HasSubstr("order original reads only text files"));
  wrong = job("in.txt", "out");
  wrong.shards = 0;
  EXPECT_THAT(refusal(wrong), HasSubstr("shards 0 is less than 1"));
  wrong.shards = 3;
  wrong.output += ",other";
  EXPECT_THAT(refusal(wrong), HasSubstr("3 shards for 2 output files"));
  wrong = job("in.txt", "out");
  io::write_file(wrong.vocab = dir_.file("empty.txt"), "");
  EXPECT_THAT(refusal(wrong), HasSubstr("empty.txt is empty, or a pipe"));
  wrong = job("in.txt", "out");
  wrong.threads = -1;
  EXPECT_THAT(refusal(wrong), HasSubstr("threads -1 is less than 0"));
  wrong = job("in.txt", "out");
  wrong.memory = 1000;
  EXPECT_THAT(refusal(wrong), HasSubstr("memory of 1000 bytes is less than 268435456"));
}

TEST_F(ShuffledOrder, DeduplicatedTextGivesTheSameExamples) {
  write("once.txt", 0, 100);
  write("again.txt", 20, 60);
  const std::string once = bytes(job("once.txt", "out"));
  BertExamplesJob twice = job("once.txt", "twice");
  twice.text.input += "," + dir_.file("again.txt");
  twice.text.dedup = text::Dedup::exact;
  EXPECT_EQ(build_bert_examples(twice).text.duplicate_documents, 40u);
  EXPECT_EQ(io::read_file(twice.output), once);
}

TEST_F(ShuffledOrder, RefusesDocumentsOfSingleSentences) {
  io::write_file(dir_.file("in.txt"), "one line\n\nand another\n\n\na third\n");
  EXPECT_THAT(refusal(job("in.txt", "out")),
              HasSubstr("none of the 3 documents has more than one sentence, so every next "
                        "sentence would be random"));
  BertExamplesJob runs = job("in.txt", "out");
  runs.pairs.next_sentence = false;
  EXPECT_EQ(refusal(runs), "no error");
}

TEST_F(ShuffledOrder, AFullDiskKeepsCompleteShardsAndResumesLater) {
  write("in.txt", 0, documents_.size());
  BertExamplesJob sharded = job("in.txt", "train.tfrecord");
  sharded.shards = 2;
  sharded.threads = 1;
  sharded.pairs.short_seq_prob = 1;
  sharded.pairs.seq_length = 200;
  {
    const FileSizeLimit limit(1 << 20);  // enough for the temporary files, not for a shard
    EXPECT_THAT(refusal(sharded), HasSubstr("train-00000-of-00002.tfrecord: File too large"));
  }
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path()))
    left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"in.txt", "train-00000-of-00002.tfrecord.work"}));
  build_bert_examples(sharded);
  EXPECT_THAT(log_.text(), HasSubstr("resuming an interrupted run: 0 of 2 files are complete"));
  BertExamplesJob whole = sharded;
  whole.output = dir_.file("whole.tfrecord");
  build_bert_examples(whole);
  for (const char* part : {"-00000-of-00002.tfrecord", "-00001-of-00002.tfrecord"})
    EXPECT_EQ(io::read_file(dir_.file(str("train", part))),
              io::read_file(dir_.file(str("whole", part))));
}

TEST_F(ShuffledOrder, FailedWriteKeepsTheOldFiles) {
  write("in.txt", 0, 3);
  BertExamplesJob again = job("in.txt", "out");
  build_bert_examples(again);
  write("in.txt", 0, documents_.size());
  std::map<std::string, std::string> old;
  for (const char* end : {"", ".index", ".json"}) old[end] = io::read_file(again.output + end);
  again.threads = 1;
  again.overwrite = true;
  {
    const FileSizeLimit limit(1 << 20);
    EXPECT_THAT(refusal(again), HasSubstr("out: File too large"));
  }
  for (const auto& [end, text] : old) EXPECT_TRUE(io::read_file(again.output + end) == text) << end;
  build_bert_examples(again);
  EXPECT_THAT(log_.text(), HasSubstr("resuming an interrupted run"));
  again.output = dir_.file("whole");
  EXPECT_TRUE(bytes(again) == io::read_file(dir_.file("out")));
}

TEST_F(ShuffledOrder, FailedWriteInTheOriginalOrderKeepsTheOldFiles) {
  write("in.txt", 0, 3);
  BertExamplesJob again = job("in.txt", "out");
  again.order = ExampleOrder::original;
  build_bert_examples(again);
  std::map<std::string, std::string> old;
  for (const char* end : {"", ".index", ".json"}) old[end] = io::read_file(again.output + end);
  again.seed = 2;
  again.overwrite = true;
  {
    const FileSizeLimit limit(100);
    EXPECT_THAT(refusal(again), HasSubstr("out: File too large"));
  }
  for (const auto& [end, text] : old) EXPECT_TRUE(io::read_file(again.output + end) == text) << end;
}

TEST_F(ShuffledOrder, RejectsDamagedTemporaryFiles) {
  write("in.txt", 0, documents_.size());
  BertExamplesJob stopped = job("in.txt", "out");
  stopped.threads = 1;  // with more, the first may have had nothing to write
  {
    const FileSizeLimit limit(1 << 20);
    EXPECT_THAT(refusal(stopped), HasSubstr("out: File too large"));
  }
  const std::string spill = stopped.output + ".work/examples-1";
  std::fstream(spill, std::ios::in | std::ios::out).put('\xff');
  EXPECT_THAT(refusal(stopped), HasSubstr("examples-1: damaged at byte "));
}

TEST_F(ShuffledOrder, WrittenIndexMatchesAnIndexOfTheFile) {
  write("in.txt", 0, documents_.size());
  BertExamplesJob job = this->job("in.txt", "train.tfrecord");
  job.shards = 3;
  build_bert_examples(job);
  for (const char* shard : {"train-00000-of-00003.tfrecord", "train-00001-of-00003.tfrecord"}) {
    const std::string path = dir_.file(shard), written = io::read_file(path + ".index");
    std::filesystem::remove(path + ".index");
    index_records(path);
    EXPECT_TRUE(io::read_file(path + ".index") == written) << shard;
  }
}

}  // namespace
}  // namespace smelt::data
