// Tests of trials: existing folders, metrics and the best trial. Also runs whose rows, examples or
// predictions were deleted.
#include "pipeline/sweep/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "runs/golden_classify.h"
#include "support/captured_log.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAreArray;

class TrialsTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    GoldenClassify("bert").write_folder(dir_.file("base"));
    std::string rows = "label\ttext\n";
    for (int i = 0; i < 22; ++i)
      rows += str(i % 2, i % 2 == 0 ? "\tcat w" : "\tdog w", 8 + i, "\n");
    io::write_file(dir_.file("train.tsv"), rows);
    io::write_file(
        dir_.file("r.yaml"),
        str("data: {train: ", std::filesystem::relative(dir_.file("train.tsv")).string(),
            ", seq_length: 8, validation_share: 0.3}\n"
            "model: {type: classify}\n"
            "train: {init_from: ",
            dir_.file("base"),
            ", batch_size: 4, steps: 2, optimizer.learning_rate: 1e-4, schedule.warmup_steps: 100, "
            "logging_steps: 4}\neval: {batch_size: 4}\n"));
  }
  TrialsJob job(std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + dir_.file("t"));
    return {.recipe = dir_.file("r.yaml"),
            .settings = settings,
            .seeds = 1,
            .grid = {},
            .against = {},
            .resample = {.samples = 20}};
  }
  std::string refusal(const TrialsJob& job) const {
    return error_of<UsageError>([&] { run_trials(job); });
  }
  void run(const std::string& out, std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + dir_.file(out));
    run_recipe(load_recipe(dir_.file("r.yaml"), settings));
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(TrialsTest, RejectsAFolderWithOtherSettingsOrWeights) {
  run_trials(job());
  run_trials(job({"train.memory.layers=unrolled"}));
  EXPECT_THAT(refusal(job({"train.checkpoint.save_interval_steps=1"})),
              HasSubstr("these settings would have no effect: train.checkpoint.save_interval_steps "
                        "was 500, is 1"));
  EXPECT_THAT(refusal(job({"train.optimizer.learning_rate=1e-7"})),
              HasSubstr("train.optimizer.learning_rate was 0.0001, is 1e-07"));
  GoldenClassify("bert").write_folder(dir_.file("moved"));
  run_trials(job({"train.init_from=" + dir_.file("moved")}));
  std::string bytes = io::read_file(dir_.file("moved/model.safetensors"));
  bytes.back() ^= 1;
  io::write_file(dir_.file("moved/model.safetensors"), bytes);
  EXPECT_THAT(refusal(job({"train.init_from=" + dir_.file("moved")})),
              HasSubstr("seed-12345 contains another run: weights had 2 input files"));
  run("m");
  EXPECT_THAT(log_.text(), Not(HasSubstr("started from other weights")));
  run("m", {"train.init_from=" + dir_.file("moved")});
  EXPECT_THAT(log_.text(), HasSubstr("started from other weights"));
}

std::ptrdiff_t files_in(const std::string& folder) {
  return std::ranges::distance(std::filesystem::directory_iterator(folder));
}

TEST_F(TrialsTest, CompilesOnceForAGridOfRatesAndSeeds) {
  const ScopedVariable cache("SMELT_COMPILE_CACHE", dir_.file("compiled"));
  run("alone", {"train.optimizer.learning_rate=0.01", "train.seed=12346", "train.steps=3"});
  const auto of_one = files_in(dir_.file("compiled"));
  auto grid = job();
  grid.grid = {"train.optimizer.learning_rate=0.001,0.01", "train.steps=2,3"};
  grid.seeds = 2;
  const TrialsSummary s = run_trials(grid);
  EXPECT_EQ(files_in(dir_.file("compiled")), of_one);
  const auto weights_of = [&](const std::string& run) {
    return io::read_file(io::join_path(run, "huggingface/model.safetensors"));
  };
  EXPECT_TRUE(weights_of(s.trials[3].folders[1]) == weights_of(dir_.file("alone")));
  EXPECT_FALSE(weights_of(s.trials[3].folders[0]) == weights_of(dir_.file("alone")));
  run("smaller", {"train.batch_size=2"});
  EXPECT_EQ(files_in(dir_.file("compiled")), of_one + 1);
}

TEST_F(TrialsTest, ComparesEachInitialModelWithRandomWeightsOfItsSize) {
  GoldenClassify("electra").write_folder(dir_.file("electra"));
  auto both = job();
  both.grid = {str("train.init_from=", dir_.file("base"), ",", dir_.file("electra"))};
  both.against_fresh = true;
  const TrialsSummary s = run_trials(both);
  EXPECT_THAT(s.against[0].settings, Contains("model.like=" + dir_.file("base")));
  EXPECT_THAT(s.against[1].settings, Contains("model.like=" + dir_.file("electra")));
  for (const auto* kind : {&s.trials, &s.against})
    for (const Trial& trial : *kind)
      EXPECT_LT(io::path_name(io::parent_path(trial.folders[0])).size(), 100);
  EXPECT_NE(s.trials[0].folders, s.trials[1].folders);
  std::vector<std::string> all;
  for (const auto* kind : {&s.trials, &s.against})
    for (const Trial& trial : *kind) all.push_back(trial.folders[0]);
  EXPECT_THAT(trial_folders(dir_.file("t")), UnorderedElementsAreArray(all));
  EXPECT_THAT(trial_folders(all[0]), IsEmpty());
}

TEST_F(TrialsTest, FindsTheFoldersOfASingleTrial) {
  const TrialsSummary s = run_trials(job());
  EXPECT_THAT(trial_folders(dir_.file("t")), UnorderedElementsAreArray(s.trials[0].folders));
}

TEST_F(TrialsTest, RejectsAGridWithOtherExamplesOrARepeatedField) {
  auto grid = job();
  grid.grid = {"data.validation_share=0.2,0.3"};
  EXPECT_THAT(refusal(grid), HasSubstr("data.validation_share is 0.2 in one run"));
  grid.grid = {"data.seed=1,2"};
  EXPECT_THAT(refusal(grid), HasSubstr("data.seed is 1 in one run"));
  grid.grid = {"train.optimizer.learning_rate=1e-3", "train.optimizer.learning_rate=1e-2"};
  EXPECT_THAT(refusal(grid), HasSubstr("--grid: train.optimizer.learning_rate is given twice"));
  EXPECT_FALSE(io::exists(dir_.file("t")));
}

TEST_F(TrialsTest, RejectsAMetricThatDoesNotFitBeforeAnythingRuns) {
  auto wrong = job();
  wrong.metric = "acuracy";
  EXPECT_THAT(refusal(wrong), HasSubstr("'acuracy' is unknown"));
  for (const char* problem : {"multi_label", "answer_spans", "regression"}) {
    auto unfit = job({str("model.problem=", problem), "data.question_tokens=2"});
    unfit.metric = str(problem) == "token_labels" ? "pearson" : "matthews";
    EXPECT_THAT(refusal(unfit), HasSubstr(str("--metric: ", unfit.metric, " does not fit")))
        << problem;
  }
  auto label = job();
  label.metric = "f1:cats";
  EXPECT_THAT(refusal(label),
              HasSubstr("--metric: f1:cats: 'cats' is not one of the 2 classes of data.train"));
  EXPECT_THAT(refusal(job({"data.validation_share=0"})),
              HasSubstr("finetune: no held-out examples to compare runs on"));
  EXPECT_FALSE(io::exists(dir_.file("t")));
  EXPECT_EQ(run_trials(job({"model.problem=regression"})).metric, "pearson");
}

TEST_F(TrialsTest, ComparesNonEntityTagsByAccuracy) {
  std::string rows = "text\tlabel\n";
  for (int i = 0; i < 22; ++i)
    rows +=
        i % 2 == 0 ? str("cat w", 8 + i, "\tSCONJ VERB\n") : str("dog w", 8 + i, "\tCCONJ VERB\n");
  io::write_file(dir_.file("tags.tsv"), rows);
  auto tags = job({"model.problem=token_labels", "data.train=" + dir_.file("tags.tsv")});
  tags.metric = "auc-macro";
  EXPECT_THAT(refusal(tags), HasSubstr("--metric: auc-macro does not fit"));
  tags.metric = "";
  const TrialsSummary usual = run_trials(tags);
  EXPECT_EQ(usual.metric, "accuracy");
  EXPECT_EQ(usual.examples, 7);  // sentences
  tags.metric = "f1:VERB";
  EXPECT_GE(run_trials(tags).trials[0].mean.value, 0);
}

TEST_F(TrialsTest, RejectsInvalidSettingsBeforeAnyRun) {
  const auto refused = [&](const std::string& grid, const std::string& against = "") {
    auto wrong = job();
    wrong.grid = {grid};
    if (!against.empty()) wrong.against = {against};
    return refusal(wrong);
  };
  EXPECT_THAT(refused("train.optimizer.learning_rate"),
              HasSubstr("--grid: 'train.optimizer.learning_rate' must name a field"));
  EXPECT_THAT(refused("train.optimizer.learning_rate=1e-5,fast"),
              HasSubstr("train.optimizer.learning_rate"));
  EXPECT_THAT(refused("train.optimizer.learning_rate=1e-5,1e-4, 1e-5"),
              HasSubstr("--grid: train.optimizer.learning_rate=1e-5 is given twice"));
  EXPECT_THAT(
      refused("train.seed=1,2"),
      HasSubstr("--grid: train.seed cannot be set, because the runs of a trial differ in it"));
  EXPECT_THAT(refused("out=a,b"), HasSubstr("--grid: out cannot be set"));
  EXPECT_THAT(refused("train.steps=1", "train.seed=7"),
              HasSubstr("--against: train.seed cannot be set"));
  EXPECT_THAT(refused("train.steps=1", "train.stepz=7"), HasSubstr("train.stepz"));
  EXPECT_FALSE(io::exists(dir_.file("t")));
}

TEST_F(TrialsTest, CountsMultiLabelAsCorrectIfAllLabelsAre) {
  EXPECT_EQ(run_trials(job({"model.problem=multi_label"})).metric, "accuracy");
}

TEST(TrialsText, PrintsAnUndefinedMetric) {
  TrialsSummary s;
  s.metric = "auc-macro";
  s.trials.emplace_back();
  s.trials.back().scores = {std::nan("")};
  s.trials.back().mean = {.value = std::nan(""), .low = std::nan(""), .high = std::nan("")};
  s.against = s.trials;
  s.margins.emplace_back();
  const std::string text = trials_text(s);
  EXPECT_THAT(text,
              testing::AllOf(HasSubstr("  this recipe  "), HasSubstr("\n  variant of --against  "),
                             HasSubstr("\n    difference ")));
  EXPECT_THAT(text, HasSubstr("undefined ± 0.0000   [undefined, undefined]"));
  EXPECT_THAT(text, HasSubstr("no best run: auc-macro is undefined for these examples"));
}

TEST(BestTrial, IsTheLowestErrorAndNeverNaN) {
  TrialsSummary s;
  s.metric = "mse";
  for (const double score : {std::nan(""), 0.5, 0.2, 0.4}) {
    s.trials.emplace_back();
    s.trials.back().scores = {score + 0.1, score - 0.1};
    s.trials.back().folders = {str(score, "/1"), str(score, "/2")};
    s.trials.back().mean.value = score;
  }
  EXPECT_EQ(best_trial(s), 1u);
  EXPECT_EQ(best_folder(s), "0.5/1");
  s.lower_is_better = true;
  EXPECT_EQ(best_trial(s), 2u);
  EXPECT_EQ(best_folder(s), "0.2/2");
  s.best = 2;
  EXPECT_THAT(trials_text(s), HasSubstr("lower is better"));
  EXPECT_THAT(trials_text(s), HasSubstr("the best run: 0.2/2\n"));
  s.trials.resize(1);
  EXPECT_EQ(best_trial(s), std::nullopt);
}

TEST_F(TrialsTest, RegeneratesDeletedPredictions) {
  run("m");
  io::remove_file(dir_.file("m/model/predictions.jsonl"));
  run("m");
  EXPECT_TRUE(io::exists(dir_.file("m/model/predictions.jsonl")));
}

TEST_F(TrialsTest, AFinishedRunNeedsNeitherItsRowsNorItsExamples) {
  run("m");
  EXPECT_THAT(io::read_file(dir_.file("m/recipe.yaml")),
              HasSubstr(str("train: \"", dir_.file("train.tsv"), "\"")));
  io::remove_file(dir_.file("train.tsv"));
  run_recipe(load_recipe(dir_.file("m"), {}));
  EXPECT_THAT(log_.text(), HasSubstr("train.tsv is missing; using the files"));
  io::remove_tree(dir_.file("m/data"));
  EXPECT_EQ(PretrainedModel::of_recipe(load_recipe(dir_.file("m"), {}))
                .classifier({})
                .job()
                .labels.names.size(),
            2u);
}

TEST_F(TrialsTest, ReRunsDataIfTheProblemChanges) {
  run("m");
  io::remove_tree(dir_.file("m/model"));
  run("m", {"model.problem=regression"});
  EXPECT_THAT(log_.text(), HasSubstr("data: started again: model.problem was"));
}

// The training rows are deleted by then.
TEST_F(TrialsTest, EvaluatesATestSetThatIsAddedLater) {
  run("m");
  io::remove_file(dir_.file("train.tsv"));
  io::write_file(dir_.file("test.tsv"), "label\ttext\n0\tcat\n1\tdog\n1\tdog w9\n");
  const auto scored = [&](const std::string& test) {
    return evaluate_model(
        load_recipe(dir_.file("m"), {"data.test=" + dir_.file(test), "eval.split=test"}));
  };
  EXPECT_EQ(scored("test.tsv").examples, 3);
  EXPECT_TRUE(io::exists(dir_.file("m/model/test_predictions.jsonl")));
  io::write_file(dir_.file("other.tsv"), "label\ttext\n0\tcat\n");
  EXPECT_EQ(scored("other.tsv").examples, 1);
  io::write_file(dir_.file("wrong.tsv"), "label\ttext\nbirds\tcat\n");
  for (int again = 0; again < 2; ++again)  // the earlier test set must not be evaluated
    EXPECT_THAT(error_of<UsageError>([&] { scored("wrong.tsv"); }),
                HasSubstr("wrong.tsv:2: label 'birds' is not one of the 2 classes"));
  // The whole run evaluates it, too, and the model can train on.
  run_recipe(load_recipe(dir_.file("m"), {"data.test=" + dir_.file("test.tsv"), "train.steps=3"}));
  EXPECT_EQ(scored("test.tsv").global_step, 3);
}

TEST_F(TrialsTest, ReportsRowsThatCannotBeHeldOutAndMetricsThatCannotBeKept) {
  io::write_file(dir_.file("few.tsv"), "text\tlabel\ncat\ta\ndog\tb\ncat w9\tc\n");
  EXPECT_THAT(error_of<UsageError>([&] { run("few", {"data.train=" + dir_.file("few.tsv")}); }),
              HasSubstr("none can be held out for evaluation: each is the only row of its class, "
                        "which training needs\n  hint: give rows "
                        "to evaluate on with data.validation"));
  EXPECT_THAT(
      error_of<UsageError>([&] {
        run("k", {"model.problem=token_labels", "eval.every=1",
                  "train.checkpoint.best_metric=entity_f1"});
      }),
      HasSubstr("train.checkpoint.best_metric is entity_f1, which only the final evaluation"));
}

}  // namespace
}  // namespace smelt::pipeline
