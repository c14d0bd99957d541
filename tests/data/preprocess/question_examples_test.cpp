// Question-answering records: positions of answers in windows, the held-out part, and errors.
#include "data/preprocess/question_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/json.h"
#include "data/input_pipeline/example_source.h"
#include "data/preprocess/questions.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "text/readers/lines.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class QuestionExamples : public testing::Test {
 protected:
  void SetUp() override {
    io::write_file(dir_.file("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\n##x\n");
  }
  QuestionExamplesJob job(const std::string& rows) const {
    io::write_file(dir_.file("q.jsonl"), rows);
    QuestionExamplesJob job;
    job.rows = {.input = dir_.file("q.jsonl"),
                .text = "question",
                .pair = "context",
                .label = "answers",
                .id = "id",
                .answers = true};
    job.vocab = dir_.file("vocab.txt");
    job.seq_length = 8;
    job.windows = {.question_tokens = 2, .stride = 2};
    job.output = dir_.file("out.tfrecord");
    job.keep_questions = true;
    return job;
  }
  static std::string row(const char* context, const std::string& answers) {
    return str(R"({"id": "1", "question": "d", "context": ")", context, R"(", "answers": )",
               answers, "}\n");
  }
  std::vector<std::int32_t> values(const char* name, std::size_t rows) const {
    const io::Features features{{.name = name, .row = {}, .limit = 99}};
    const auto source = open_examples({.input = dir_.file("out.tfrecord"), .features = features});
    EXPECT_EQ(source->size(), rows);
    const Batch batch = source->examples_in_order(0, rows);
    const auto all = batch.arrays.front().values<std::int32_t>();
    return {all.begin(), all.end()};
  }

  CapturedLog log_;
  TempDir dir_;
};

// A window is [CLS] d [SEP] and up to four pieces. Windows overlap by two pieces.
TEST_F(QuestionExamples, AnswersHavePositionsInEachWindowThatContainsThem) {
  const auto s =
      write_question_examples(job(row("a bx é c a d", R"([{"text": "c a", "answer_start": 7}])") +
                                  row("a b", R"({"text": ["z", "b"], "answer_start": [0, 2]})")));
  // Windows: a b ##x [UNK] | ##x [UNK] c a | c a d of the first row, a b of the second.
  EXPECT_EQ(s.examples, 4u);
  EXPECT_EQ(s.questions, 2u);
  EXPECT_THAT(values("start_positions", 4), ElementsAre(0, 5, 3, 4));
  EXPECT_THAT(values("end_positions", 4), ElementsAre(0, 6, 4, 4));
  text::LineReader kept(questions_file(dir_.file("out.tfrecord")));
  std::string line;
  ASSERT_TRUE(kept.next(line));
  EXPECT_EQ(line, R"({"id":"1","question":"d","context":"a bx é c a d","answers":["c a"]})");
}

TEST_F(QuestionExamples, WarnsOfAnAnswerThatIsNotAtItsPosition) {
  const auto s = write_question_examples(job(row("a b", R"([{"text": "b", "answer_start": 2}])") +
                                             row("a b", R"([{"text": "b", "answer_start": 1}])")));
  EXPECT_EQ(s.questions, 2u);
  EXPECT_EQ(s.examples, 1u);
  EXPECT_EQ(s.left_out, 1u);
  EXPECT_THAT(log_.text(), HasSubstr("q.jsonl:2: 'b' is not in the text at answer_start"));
  auto none = job(row("a b", "[]"));
  EXPECT_THAT(error_of<UsageError>([&] { write_question_examples(none); }),
              HasSubstr("q.jsonl:1: no answer to 'd'\n  hint: set data.no_answer to true"));
  none.no_answer = true;
  EXPECT_EQ(write_question_examples(none).without_answer, 1u);
  EXPECT_THAT(values("start_positions", 1), ElementsAre(0));
}

TEST_F(QuestionExamples, AllQuestionsOfATextAreInTheSameSplit) {
  std::string rows;
  for (const char* context : {"a", "b", "a b", "c", "c b", "a c"})
    for (int i = 0; i < 3; ++i) rows += row(context, "[]");
  auto part = job(rows);
  part.no_answer = true;
  std::map<std::string, std::set<int>> sides;
  std::uint64_t questions = 0;
  for (const auto side : {RowSplit::Part::train, RowSplit::Part::heldout}) {
    part.split = {.heldout = 0.34, .seed = 3, .part = side};
    questions += write_question_examples(part).questions;
    text::LineReader kept(questions_file(part.output));
    for (std::string line; kept.next(line);)
      sides[Json::parse(line)["context"]].insert(static_cast<int>(side));
  }
  EXPECT_EQ(questions, 18u);
  ASSERT_EQ(sides.size(), 6u);
  int held = 0;
  for (const auto& [context, on] : sides) {
    EXPECT_EQ(on.size(), 1u) << context;
    held += *on.begin() == static_cast<int>(RowSplit::Part::heldout) ? 1 : 0;
  }
  EXPECT_EQ(held, 2);
}

TEST_F(QuestionExamples, ThrowsForMalformedAnswers) {
  for (const char* answers :
       {"3", R"("b")", R"([1])", R"([{"text": "b"}])", R"({"text": ["b"], "answer_start": []})",
        R"([{"text": "b", "answer_start": -1}])"})
    EXPECT_THAT(error_of<UsageError>([&] { right_answers(answers, "a b", "q:1"); }),
                HasSubstr("q:1: '"))
        << answers;
  EXPECT_FALSE(right_answers(R"([{"text": "b", "answer_start": 99}])", "a b", "").at(0).in_place);
}

}  // namespace
}  // namespace smelt::data
