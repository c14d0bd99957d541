// Compares the examples with the original program's bytes (tools/golden_pretraining_data.py);
// invalid input.
#include "data/preprocess/bert_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/json.h"
#include "data/input_pipeline/inspect.h"
#include "data/preprocess/bert_statistics.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/file_size_limit.h"
#include "support/paths.h"
#include "support/sha256.h"

namespace smelt::data {
namespace {

using testing::HasSubstr;

std::string golden(const std::string& name) {
  return source_path("tests/golden/pretraining/" + name);
}

BertExamplesJob golden_job(const Json& item, const TempDir& dir) {
  BertExamplesJob job;
  for (const std::string name : item["inputs"]) job.text.input += golden(name) + ",";
  job.vocab = golden(item["cased"] ? "vocab_cased.txt" : "vocab_uncased.txt");
  for (int i = 0; i < item["shards"]; ++i) job.output += dir.file(str(i)) + ",";
  job.order = ExampleOrder::original;
  job.tokenizer.lower_case = !item["cased"].get<bool>();
  job.seed = item["seed"];
  job.pairs = {.seq_length = item["seq_length"],
               .max_predictions = item["max_predictions"],
               .dupe_factor = item["dupe_factor"],
               .masked_lm_prob = item["masked_lm_prob"],
               .short_seq_prob = item["short_seq_prob"],
               .whole_word_mask = item["whole_word_mask"]};
  return job;
}

// Returns the log from the first example on, without date and level.
std::string logged_examples(const std::string& log) {
  std::string out;
  for (const std::string_view line : split(log, '\n')) {
    const std::size_t begin = line.find("[info] ");
    if (begin == std::string_view::npos) continue;
    const std::string_view text = line.substr(begin + 7);
    if (!out.empty() || text == "*** Example ***") out += str(text, "\n");
  }
  return out.substr(0, out.rfind("Wrote "));
}

TEST(BertExamples, WarnIfEveryNextSentenceIsRandom) {
  const TempDir dir;
  io::write_file(dir.file("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\none\ntwo\n");
  BertExamplesJob job;
  job.vocab = dir.file("vocab.txt");
  job.order = ExampleOrder::original;
  job.pairs.seq_length = 8;
  job.pairs.max_predictions = 2;
  job.text.input = dir.file("text.txt");
  job.output = dir.file("out");
  const auto logged = [&](const char* text) {
    io::write_file(dir.file("text.txt"), text);
    job.output += "x";
    const CapturedLog log;
    build_bert_examples(job);
    return log.text();
  };
  EXPECT_THAT(
      logged("one two\n\ntwo one\n"),
      HasSubstr("none of the 2 documents has more than one sentence: every next sentence is"));
  EXPECT_THAT(logged("one two\ntwo one\n\ntwo one\n"),
              testing::Not(HasSubstr("every next sentence is random")));
}

TEST(BertExamples, MatchTheOriginalProgramByteForByte) {
  const auto items = Json::parse(io::read_file(golden("hashes.json")));
  ASSERT_GE(items.size(), 20u);
  for (const auto& item : items) {
    const TempDir dir;
    const CapturedLog log;
    BertExamplesJob job = golden_job(item, dir);
    job.log_examples = true;
    const BuildSummary summary = build_bert_examples(job);
    EXPECT_EQ(sha256(logged_examples(log.text())), item["log_sha256"]) << item["name"];
    EXPECT_EQ(summary.examples, item["instances"].get<std::uint64_t>()) << item["name"];
    for (std::size_t i = 0; i < item["sha256"].size(); ++i)
      EXPECT_EQ(sha256(io::read_file(dir.file(str(i)))), item["sha256"][i])
          << item["name"] << ", file " << i;
  }
}

class BertExamplesTest : public testing::Test {
 protected:
  BertExamplesJob job(std::string_view text) {
    io::write_file(dir_.file("in.txt"), text);
    BertExamplesJob job;
    job.text.input = dir_.file("in.txt");
    job.vocab = golden("vocab_uncased.txt");
    job.output = dir_.file("out.tfrecord");
    job.pairs.seq_length = 32;
    job.pairs.max_predictions = 5;
    return job;
  }
  std::string refusal(const BertExamplesJob& job) {
    const std::string message = error_of([&] { build_bert_examples(job); });
    EXPECT_FALSE(std::filesystem::exists(dir_.file("out.tfrecord"))) << message;
    return message;
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(BertExamplesTest, RefusesAnEmptyCorpus) {
  EXPECT_THAT(refusal(job(" \n\n\n")), HasSubstr("the input holds no text (1 file)"));
}

TEST_F(BertExamplesTest, RefusesTextWhoseNextSentencesWouldAllBeRandom) {
  EXPECT_THAT(
      refusal(job("the one\n\nthe two\n")),
      testing::AllOf(HasSubstr("none of the 2 documents has more than one sentence"),
                     HasSubstr("give --sentences prose"), HasSubstr("(data.next_sentence=false)")));
}

TEST_F(BertExamplesTest, RefusesMissingInput) {
  BertExamplesJob missing = job("a");
  missing.text.input = dir_.file("none.txt");
  EXPECT_THAT(refusal(missing), HasSubstr("none.txt: No such file or directory"));
}

TEST_F(BertExamplesTest, RefusesAVocabularyWithoutMask) {
  BertExamplesJob without = job("a b.");
  io::write_file(dir_.file("v.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n");
  without.vocab = dir_.file("v.txt");
  EXPECT_THAT(refusal(without), HasSubstr("v.txt: has no token [MASK]"));
}

TEST_F(BertExamplesTest, RejectsTooSmallAndTooLargeLengths) {
  BertExamplesJob tiny = job("a b.");
  tiny.pairs.seq_length = 4;
  EXPECT_THAT(refusal(tiny), HasSubstr("seq_length 4 is less than the 5 of [CLS] a [SEP] b [SEP]"));
  tiny = job("a b.");
  tiny.pairs.max_predictions = 0;
  EXPECT_THAT(refusal(tiny), HasSubstr("max_predictions 0 is less than 1"));
  BertExamplesJob huge = job("a b.");
  huge.pairs.seq_length = 100000000;
  EXPECT_THAT(refusal(huge), HasSubstr("seq_length 100000000 is more than 65536"));
  huge.pairs = {.max_predictions = 65537};
  EXPECT_THAT(refusal(huge), HasSubstr("max_predictions 65537 is more than 65536"));
}

TEST_F(BertExamplesTest, CountsOrRejectsInvalidUtf8) {
  BertExamplesJob latin1 = job("The first line.\nThe caf\xe9 is open.\n");
  latin1.text.limits.strict = true;
  EXPECT_THAT(refusal(latin1), HasSubstr("in.txt:2: not UTF-8 (1 byte)"));
  latin1.text.limits.strict = false;
  EXPECT_EQ(build_bert_examples(latin1).text.dropped_bytes, 1u);
  EXPECT_THAT(log_.text(), HasSubstr("1 byte that is not UTF-8 was left out"));
}

TEST_F(BertExamplesTest, AcceptsFileNamesThatAreNotUtf8) {
  for (const ExampleOrder order : {ExampleOrder::original, ExampleOrder::shuffled}) {
    BertExamplesJob named = job("One sentence here.\nAnother one.\n\nA second document.\n");
    io::write_file(dir_.file("gr\xfc.txt"), io::read_file(named.text.input));
    named.text.input = dir_.file("gr\xfc.txt");
    named.output = dir_.file("\xfc.tfrecord");
    named.order = order;
    named.overwrite = true;
    EXPECT_GT(build_bert_examples(named).examples, 0u);
    const auto description = Json::parse(io::read_file(named.output + ".json"));
    EXPECT_THAT(std::string(description["text"]["files"][0]), HasSubstr("gr\xef\xbf\xbd.txt"));
  }
}

TEST_F(BertExamplesTest, WarnsOfMoreMasksThanTokens) {
  BertExamplesJob run = job("One sentence here.\nAnother one there.\n\nA second document.\n");
  run.pairs.max_predictions = run.pairs.seq_length + 1;
  build_bert_examples(run);
  EXPECT_THAT(log_.text(), HasSubstr(str("max_predictions ", run.pairs.max_predictions,
                                         " is more than seq_length ", run.pairs.seq_length)));
}

TEST_F(BertExamplesTest, WarnsOfLinesThatAreLongerThanAnExampleInTheOriginalOrder) {
  std::string line, text;
  for (int i = 0; i < 300; ++i) line += "the ";
  for (int i = 0; i < 6; ++i) text += line + "\n" + (i % 2 == 1 ? "\n" : "");
  {
    BertExamplesJob paragraphs = job(text);
    paragraphs.order = ExampleOrder::original;
    const CapturedLog log;
    build_bert_examples(paragraphs);
    EXPECT_THAT(
        log.text(),
        HasSubstr("of the text's 1800 tokens are not in any example: lines "
                  "longer than an example are truncated\n  hint: put a sentence on a line, or "
                  "cut paragraphs with --sentences prose"));
  }
  BertExamplesJob runs = job(text);
  runs.pairs.next_sentence = false;
  runs.overwrite = true;
  const CapturedLog log;
  build_bert_examples(runs);
  EXPECT_THAT(log.text(), testing::Not(HasSubstr("in no example")));
}

TEST_F(BertExamplesTest, SplitsLinesThatAreLongerThanAnExampleInTheShuffledOrder) {
  std::string line;
  for (int i = 0; i < 300; ++i) line += "the ";
  const CapturedLog log;
  const BuildSummary made = build_bert_examples(job(line + "\n\n" + line + "\n\nthe the\n"));
  EXPECT_THAT(log.text(),
              HasSubstr("split 2 sentences that had more than twice the tokens of an example"));
  EXPECT_THAT(log.text(), testing::Not(HasSubstr("not in any example")));
  EXPECT_EQ(made.text.tokens, 602u);
  EXPECT_GT(made.text.sentences, 10u);
}

TEST_F(BertExamplesTest, WarnsIfMostNextSentencesAreRandom) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += i % 3 == 0 ? "the one\nthe two\n\n" : "the one\n\n";
  BertExamplesJob pairs = job(text);
  const char* warning = "20 of the 30 documents have only one sentence: ";
  {
    const CapturedLog log;
    build_bert_examples(pairs);
    EXPECT_THAT(log.text(),
                testing::AllOf(HasSubstr(warning), HasSubstr("% of the next sentences are random"),
                               HasSubstr("data.next_sentence=false")));
  }
  pairs.pairs.next_sentence = false;
  pairs.overwrite = true;
  const CapturedLog log;
  build_bert_examples(pairs);
  EXPECT_THAT(log.text(), testing::Not(HasSubstr(warning)));
}

// Python's "\0".strip() is not empty.
TEST_F(BertExamplesTest, LineOfNulBytesDoesNotEndADocumentInTheOriginalOrder) {
  const std::string lines("The first line.\nAnother one.\n\0\nA third.\nA fourth.\n", 50);
  BertExamplesJob zeros = job(lines);
  zeros.order = ExampleOrder::original;
  EXPECT_EQ(build_bert_examples(zeros).text.documents, 1u);
}

TEST_F(BertExamplesTest, DoesNotReplaceFilesWithoutOverwrite) {
  BertExamplesJob twice = job("The first line.\nThe second line.\n");
  build_bert_examples(twice);
  EXPECT_THAT(error_of([&] { build_bert_examples(twice); }),
              HasSubstr("out.tfrecord exists already"));
  BertExamplesJob among = twice;
  among.output = dir_.file("new.tfrecord") + "," + twice.output;
  EXPECT_THAT(error_of([&] { build_bert_examples(among); }),
              HasSubstr("out.tfrecord exists already"));
  EXPECT_FALSE(std::filesystem::exists(dir_.file("new.tfrecord")));
  twice.overwrite = true;
  EXPECT_EQ(error_of([&] { build_bert_examples(twice); }), "no error");
}

TEST_F(BertExamplesTest, LeavesNoFilesOnAFullDisk) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "The quick brown fox jumps over the lazy dog again.\n";
  BertExamplesJob large = job(text);
  large.output += "," + dir_.file("second.tfrecord");
  large.order = ExampleOrder::original;
  const FileSizeLimit limit(1 << 14);
  EXPECT_THAT(refusal(large), HasSubstr(".tfrecord: File too large"));
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path()))
    EXPECT_EQ(entry.path().filename(), "in.txt");
}

TEST_F(BertExamplesTest, InspectionCountsMatchTheWrittenExamples) {
  const BuildSummary summary =
      build_bert_examples(job("The first line.\nThe second line.\n\nOne more.\n"));
  const RecordStatistics s =
      inspect_records({.input = dir_.file("out.tfrecord"), .kinds = {find_bert_records}});
  EXPECT_EQ(s.records, summary.examples);
  ASSERT_NE(s.kind, nullptr);
  const auto& bert = dynamic_cast<const BertStatistics&>(*s.kind);
  EXPECT_EQ(bert.predictions, summary.masked_tokens);
  EXPECT_EQ(bert.shape.seq_length, 32);
  EXPECT_EQ(s.bad_records, 0u);
  EXPECT_GT(inspect_records({.input = dir_.file("out.tfrecord"), .vocab_size = 6}).bad_records, 0u);
}

}  // namespace
}  // namespace smelt::data
