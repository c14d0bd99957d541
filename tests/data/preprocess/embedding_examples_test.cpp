// Records of texts to embed: their contents, and errors.
#include "data/preprocess/embedding_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/input_pipeline/example_source.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EmbeddingExamples : public testing::Test {
 protected:
  void SetUp() override {
    io::write_file(dir_.file("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n");
  }
  EmbeddingExamplesJob job(const std::string& rows) const {
    io::write_file(dir_.file("rows.jsonl"), rows);
    EmbeddingExamplesJob job;
    job.rows.input = dir_.file("rows.jsonl");
    job.rows.text = "anchor";
    job.rows.pair = "positive";
    job.rows.label = "";
    job.rows.needs_pair = true;
    job.rows.limits = {.strict = true};
    job.vocab = dir_.file("vocab.txt");
    job.seq_length = 5;
    job.output = dir_.file("out.tfrecord");
    return job;
  }
  EmbeddingExamplesJob scored_job(const std::string& rows) const {
    EmbeddingExamplesJob out = job(rows);
    out.rows.label = "score";
    out.rows.needs_label = true;
    return out;
  }
  template <class Value = std::int32_t>
  std::vector<Value> values(const char* name, compiler::Dims row) const {
    const auto dtype = std::is_same_v<Value, float> ? compiler::DType::f32 : compiler::DType::s32;
    const io::Features features{
        {.name = name, .dtype = dtype, .row = std::move(row), .limit = std::int64_t{1} << 31}};
    const auto source = open_examples({.input = dir_.file("out.tfrecord"), .features = features});
    const Batch batch = source->examples_in_order(0, source->size());
    const auto all = batch.arrays.front().values<Value>();
    return {all.begin(), all.end()};
  }
  std::string refusal(const EmbeddingExamplesJob& job) const {
    return error_of<UsageError>([&] { write_embedding_examples(job); });
  }
  TempDir dir_;
};

TEST_F(EmbeddingExamples, HoldTheTextsOfEachRowAndMarkMissingNegatives) {
  EmbeddingExamplesJob job = this->job(
      "{\"anchor\": \"a\", \"positive\": \"b c\", \"no\": [\"c\", \"a\", \"b\"]}\n"
      "{\"anchor\": \"b\", \"positive\": \"b c\", \"no\": \"\"}\n");
  job.rows.others = {"no"};
  job.texts = 4;
  const EmbeddingSummary s = write_embedding_examples(job);
  EXPECT_EQ(s.examples, 2);
  EXPECT_EQ(s.negatives, 2);  // the third one of the first row is not used
  EXPECT_EQ(s.repeated, 1);
  EXPECT_THAT(s.tokens_of_each, ElementsAre(4, 4));
  EXPECT_THAT(values("input_ids", {4, 5}),
              ElementsAre(2, 5, 3, 0, 0, 2, 6, 7, 3, 0, 2, 7, 3, 0, 0, 2, 5, 3, 0, 0,  //
                          2, 6, 3, 0, 0, 2, 6, 7, 3, 0, 2, 3, 0, 0, 0, 2, 3, 0, 0, 0));
  EXPECT_THAT(values("tokens", {5}), ElementsAre(1, 1, 1, 1, 0, 1, 1, 1, 1, 0));
  const auto keys = values("text_keys", {4});
  EXPECT_EQ(keys[0], keys[3]);  // "a" is the anchor and a negative
  EXPECT_EQ(keys[1], keys[5]);
  EXPECT_NE(keys[0], keys[4]);
  EXPECT_EQ(keys[6], 0);
  EXPECT_EQ(keys[7], 0);
}

TEST_F(EmbeddingExamples, DivideScoresByTheLargestOne) {
  EmbeddingExamplesJob job = scored_job(
      "{\"anchor\": \"a\", \"positive\": \"b\", \"score\": 2.5}\n"
      "{\"anchor\": \"b\", \"positive\": \"c\", \"score\": \"5\"}\n");
  EXPECT_THAT(refusal(job),
              HasSubstr("rows.jsonl:1: score 2.5 must be between -1 and 1, the value of "
                        "data.max_score\n  hint: set data.max_score to the largest score, such as "
                        "5 for STS-B"));
  job.max_score = 5;
  write_embedding_examples(job);
  EXPECT_THAT(values<float>("score", {}), ElementsAre(0.5F, 1.0F));
}

TEST_F(EmbeddingExamples, RejectRowsWithoutATextOrAScore) {
  EXPECT_THAT(refusal(job("{\"anchor\": \"a\", \"positive\": \" \"}\n")),
              HasSubstr("rows.jsonl:1: the text in 'positive' is empty"));
  EXPECT_THAT(refusal(job("{\"anchor\": \"\", \"positive\": \"a\"}\n")),
              HasSubstr("rows.jsonl:1: the text in 'anchor' is empty"));
  EXPECT_THAT(refusal(job("{\"anchor\": \"a\"}\n")), HasSubstr("positive"));
  EXPECT_THAT(refusal(job("")), HasSubstr("has no row to make an example of"));
  EXPECT_THAT(
      refusal(scored_job("{\"anchor\": \"a\", \"positive\": \"b\", \"score\": \"high\"}\n")),
      HasSubstr("rows.jsonl:1: score 'high' is not a number\n  hint: name the column of the "
                "scores with data.score"));
}

TEST_F(EmbeddingExamples, ReadListsOfTexts) {
  EXPECT_THAT(texts_in("[\"a\", \"\", \"e\u0301\"]"), ElementsAre("a", "\u00e9"));
  EXPECT_THAT(texts_in("[1] of 2"), ElementsAre("[1] of 2"));
  EXPECT_THAT(texts_in("[]"), ElementsAre());
}

}  // namespace
}  // namespace smelt::data
