// Tests of recipes with model.problem answer_spans: from a SQuAD file to answers and scores,
// resuming, scanned layers on a mesh, exported folders, and the best answer against a brute-force
// search.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "evaluation/metrics/answers.h"
#include "execution/inference/answer_spans.h"
#include "io/filesystem/file.h"
#include "pipeline/objectives/classify_data.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "runs/golden_classify.h"
#include "runs/state_values.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "text/readers/lines.h"
#include "text/tokenizers/answer_windows.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;

// Ten contexts with two questions each; the second question has no answer.
std::string squad_file() {
  Json paragraphs = Json::array();
  for (int i = 0; i < 10; ++i) {
    const std::string begin = str("cat w", 10 + i, i % 2 == 0 ? " bird w12 " : " ");
    const Json answer{{"text", "dog"}, {"answer_start", begin.size()}};
    paragraphs.push_back(
        {{"context", begin + "dog cat"},
         {"qas",
          {{{"id", str("a", i)}, {"question", "w20"}, {"answers", Json::array({answer})}},
           {{"id", str("b", i)}, {"question", "w21"}, {"answers", Json::array()}}}}});
  }
  return Json{{"data", {{{"title", "t"}, {"paragraphs", paragraphs}}}}}.dump();
}

class AnswerRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    GoldenClassify("bert").write_folder(dir_.file("base"));
    io::write_file(dir_.file("train.json"), squad_file());
    io::write_file(
        dir_.file("r.yaml"),
        str("data: {train: ", dir_.file("train.json"),
            ", seq_length: 8, question_tokens: 2, doc_stride: 2, validation_share: 0.3, "
            "no_answer: true}\n"
            "model: {type: classify, problem: answer_spans}\n"
            "train: {init_from: ",
            dir_.file("base"),
            ", batch_size: 4, steps: 4, optimizer.learning_rate: 1e-4, schedule.warmup_steps: 100, "
            "checkpoint.save_interval_steps: 2, logging_steps: 4}\n"
            "eval: {batch_size: 4}\n"));
  }
  Recipe recipe(const std::string& out, std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + dir_.file(out));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  execution::Evaluation run(const std::string& out,
                            const std::vector<std::string>& settings = {}) const {
    execution::Evaluation told;
    run_recipe(recipe(out, settings), {}, [&](const execution::Evaluation& e) { told = e; });
    return told;
  }
  std::string refusal(const std::vector<std::string>& settings) const {
    return error_of<UsageError>([&] { run("refused", settings); });
  }
  std::string weights(const std::string& out) const {
    return stored_values(dir_.file(out + "/model"), 4);
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(AnswerRun, HintsAtAPredictCommandWithQuestionAndContext) {
  EXPECT_EQ(example_flags(recipe("m")), "--text 'a question' --pair 'a text with its answer'");
  io::write_file(dir_.file("c.yaml"),
                 str("data: {train: ", dir_.file("train.json"),
                     ", seq_length: 8}\nmodel: {type: classify}\ntrain: {init_from: ",
                     dir_.file("base"), "}\n"));
  EXPECT_EQ(example_flags(load_recipe(dir_.file("c.yaml"), {})), "--text 'a text'");
  EXPECT_EQ(example_flags(load_recipe(dir_.file("c.yaml"), {"data.pair=hypothesis"})),
            "--text 'a text' --pair 'another'");
}

TEST_F(AnswerRun, PredictsAndScoresEveryHeldOutQuestion) {
  const execution::Evaluation e = run("m");
  EXPECT_GT(e.measure("answer_loss").weight, 6);  // windows
  EXPECT_EQ(e.measure("exact_match").weight, 6);
  double exact = 0, f1 = 0, rows = 0, none = 0;
  text::LineReader lines(dir_.file("m/model/predictions.jsonl"));
  for (std::string line; lines.next(line); ++rows) {
    const auto row = Json::parse(line);
    const std::string said = row["prediction"], context = row["context"];
    const evaluation::AnswerScore score =
        evaluation::squad_score(said, row["label"].get<std::vector<std::string>>());
    exact += score.exact;
    f1 += score.f1;
    none += row["label"].empty() ? 1 : 0;
    EXPECT_TRUE(row.contains("id") && row.contains("no_answer"));
    const std::string best = row["best"];
    const std::size_t begin = row["begin"], end = row["end"];
    EXPECT_EQ(context.substr(begin, end - begin), best);
    EXPECT_EQ(said, row["no_answer"].get<double>() > 0 ? "" : best);
    EXPECT_NE(best, "");
  }
  EXPECT_EQ(rows, 6);
  EXPECT_EQ(none, 3);
  EXPECT_NEAR(e.measure("exact_match").value, exact / rows, 1e-6);
  EXPECT_NEAR(e.measure("f1").value, f1 / rows, 1e-6);
  run("m", {"data.answer_tokens=1"});  // not a setting of the examples
}

TEST_F(AnswerRun, AppliesTheNoAnswerThreshold) {
  run("m");
  const std::vector<execution::TextQuestion> questions{
      {.question = "w20", .context = "cat w10 dog w11"}};
  const auto found = [&](double threshold) {
    auto classifier =
        PretrainedModel::of_recipe(recipe("m")).classifier({.no_answer_threshold = threshold});
    return execution::find_answers(classifier, questions)[0];
  };
  const execution::FoundAnswer always = found(1e9), never = found(-1e9), usual = found(0);
  EXPECT_NE(always.text, "");
  EXPECT_EQ(always.text, always.best);
  EXPECT_EQ(never.text, "");
  EXPECT_EQ(never.best, always.best);
  EXPECT_NEAR(always.no_answer, never.no_answer, 1e-6);
  EXPECT_EQ(usual.text, usual.no_answer > 0 ? "" : usual.best);
}

// Windows of another length would contain other tokens.
TEST_F(AnswerRun, PredictsFromFoldersAndCheckpointsWithTheWindowsOfTraining) {
  const std::vector<std::string> settings{"data.answer_tokens=3"};
  run("m", settings);
  const std::vector<execution::TextQuestion> questions{
      {.question = "w21 w22 w23", .context = "w9 w10 w11 w12 dog w13 cat w15 w16"}};
  auto of_run = PretrainedModel::of_recipe(recipe("m", settings)).classifier({});
  const execution::FoundAnswer want = execution::find_answers(of_run, questions)[0];
  for (const char* place : {"m/huggingface", "m/model", "m/model/checkpoint-4"}) {
    SCOPED_TRACE(place);
    auto stored = PretrainedModel::of_folder(dir_.file(place)).classifier({});
    EXPECT_EQ(stored.job().most_tokens, 8);
    EXPECT_EQ(stored.job().answers, (io::AnswerLimits{2, 2, 3}));
    const execution::FoundAnswer got =
        PretrainedModel::load(dir_.file(place)).answer_question(questions)[0];
    EXPECT_EQ(got.best, want.best);
    EXPECT_NEAR(got.no_answer, want.no_answer, 1e-5);
  }
}

TEST_F(AnswerRun, AllowsAnotherAnswerLengthInAFinishedRun) {
  run("m");
  const std::string before = weights("m");
  EXPECT_EQ(run("m", {"data.answer_tokens=1"}).measure("exact_match").weight, 6);
  EXPECT_EQ(weights("m"), before);
  EXPECT_THAT(error_of<UsageError>([&] { run("m", {"data.doc_stride=1"}); }),
              HasSubstr("contains a model of other data: data.doc_stride"));
}

TEST_F(AnswerRun, LearnsThePositionOfTheAnswer) {
  const execution::Evaluation e = run("m", {"train.steps=150", "train.optimizer.learning_rate=3e-3",
                                            "train.schedule.warmup_steps=10", "data.lengths=one"});
  EXPECT_GE(e.measure("exact_match").value, 0.8);
}

// A resumed run gives the same bits; a mesh with scanned layers gives the same losses.
TEST_F(AnswerRun, ResumesBitIdenticallyAndMatchesAMeshWithScannedLayers) {
  const std::vector<std::string> lengths{"data.lengths=6"};
  const double one = run("whole", lengths).measure("answer_loss").value;
  run("cut", {"data.lengths=6", "train.steps=2"});
  run("cut", lengths);
  EXPECT_EQ(weights("cut"), weights("whole"));
  const double mesh =
      run("mesh", {"data.lengths=6", "train.devices=2", "train.parallelism.mesh=data=1,fsdp=2",
                   "train.memory.layers=scan", "train.memory.remat_policy=products"})
          .measure("answer_loss")
          .value;
  EXPECT_NEAR(mesh, one, 2e-5);
}

// Compares with all possible answers, for a text in one window and in several overlapping ones.
TEST_F(AnswerRun, FindsTheBestAnswerWithRunAndExportedFolders) {
  GoldenClassify("electra").write_folder(dir_.file("electra"));
  for (const char* base : {"base", "electra"}) {
    const std::vector<std::string> settings{"train.init_from=" + dir_.file(base),
                                            "data.no_answer=true", "data.answer_tokens=3"};
    const std::string out = str("of-", base);
    run(out, settings);
    auto classifier =
        PretrainedModel::of_recipe(recipe(out, settings)).classifier({.batch_size = 3});
    const std::vector<execution::TextQuestion> questions{
        {.question = "w20", .context = "cat w10  dog"},
        {.question = "w21 w22 w23", .context = "w9 w10 w11 w12 dog w13 cat w15 w16"},
        {.question = "w20", .context = " "}};
    const auto found = execution::find_answers(classifier, questions);
    EXPECT_EQ(found[2].text, "");
    for (std::size_t q = 0; q < 2; ++q) {
      const text::AnswerWindows all =
          text::AnswerWindowEncoder(classifier.tokenizer(), 8, {.question_tokens = 2, .stride = 2})
              .encode(questions[q].question, questions[q].context);
      double best = -1e9, none = 1e9;
      std::string text;
      for (const text::AnswerWindow& window : all.windows) {
        const auto logits = classifier.classify(std::vector{window.ids}).front();
        none = std::min<double>(none, logits[0] + logits[1]);
        for (std::size_t i = 0; i < window.is_best.size(); ++i)
          for (std::size_t j = i; window.is_best[i] && j < std::min(i + 3, window.is_best.size());
               ++j) {
            const double score = logits[2 * i + 2] + logits[2 * j + 3];
            if (score <= best) continue;
            best = score;
            const std::size_t begin = all.pieces[window.first + i].begin;
            text = questions[q].context.substr(begin, all.pieces[window.first + j].end - begin);
          }
      }
      EXPECT_NEAR(found[q].no_answer, none - best, 1e-4) << base << q;
      EXPECT_EQ(found[q].text, none > best ? "" : text) << base << q;
    }
    auto stored = PretrainedModel::of_folder(dir_.file(out + "/huggingface")).classifier({});
    EXPECT_TRUE(stored.job().labels.no_answer);
    EXPECT_EQ(stored.job().labels.problem, io::Problem::answer_spans);
    run("again-" + out,
        {settings[0], "train.steps=2", "train.init_from=" + dir_.file(out + "/huggingface")});
  }
}

TEST_F(AnswerRun, RejectsInvalidSettings) {
  EXPECT_THAT(refusal({"data.no_answer=false"}),
              HasSubstr("no answer to 'w21'\n  hint: set data.no_answer to true"));
  EXPECT_THAT(refusal({"model.problem=single_label", "data.no_answer=true"}),
              HasSubstr("data.no_answer is only for model.problem answer_spans"));
  EXPECT_THAT(refusal({"data.question_tokens=5"}),
              HasSubstr("data.seq_length 8 is too small for a context and a question of 5 tokens"));
  EXPECT_THAT(refusal({"data.labels=a,b"}),
              HasSubstr("data.labels cannot be set with model.problem answer_spans"));
  EXPECT_THAT(refusal({"data.doc_stride=0"}), HasSubstr("data.doc_stride"));
}

}  // namespace
}  // namespace smelt::pipeline
