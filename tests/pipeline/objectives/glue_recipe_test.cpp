// Tests of data.glue, a GLUE task in a recipe of model.type classify.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "base/number_format.h"
#include "io/filesystem/file.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/glue_submission.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/predictions.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/sweep/trials.h"
#include "runs/golden_classify.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;

class GlueRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    GoldenClassify("bert").write_folder(dir_.file("base"));
    io::write_file(dir_.file("r.yaml"),
                   str("data: {seq_length: 8}\nmodel: {type: classify}\ntrain: {init_from: ",
                       dir_.file("base"), ", batch_size: 4, steps: 2}\neval: {batch_size: 4}\n"));
  }
  Recipe recipe(const std::string& out, std::vector<std::string> settings) const {
    settings.push_back("out=" + dir_.file(out));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  execution::Evaluation run(const std::string& out,
                            const std::vector<std::string>& settings) const {
    execution::Evaluation told;
    run_recipe(recipe(out, settings), {}, [&](const execution::Evaluation& e) { told = e; });
    return told;
  }

  // Computed from all predictions of a file.
  static double score(const std::string& metric, const std::string& field,
                      const std::string& path) {
    const ReadPredictions read = read_predictions(path, field);
    std::vector<std::size_t> all(read.labels.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return evaluation::metric_of(metric, read.predictions, read.labels)(all);
  }

  CapturedLog log_;
  TempDir dir_;
};

// Files in GLUE's format: MRPC has its label column first, STS-B its score column last.
TEST_F(GlueRun, ReadsAGlueTaskByItsName) {
  std::string mrpc = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n", sts = "index\ttexts\n";
  for (int i = 0; i < 8; ++i) {
    mrpc += str(i % 2, "\t1\t2\tcat w", 8 + i, "\t\"dog\n");
    sts += str(i, "\tgenre\tcat w", 8 + i, "\tdog\t", i / 2.0, "\n");
  }
  for (const char* part : {"train", "dev"}) {
    io::write_file(dir_.file(str("glue/MRPC/", part, ".tsv")), mrpc);
    io::write_file(dir_.file(str("glue/STS-B/", part, ".tsv")), sts);
  }
  const auto with = [&](const std::string& task) {
    return std::vector<std::string>{"data.glue=" + task, "data.glue_folder=" + dir_.file("glue")};
  };
  const execution::Evaluation m = run("mrpc", with("MRPC"));
  EXPECT_EQ(m.examples, 8);
  EXPECT_THAT(log_.text(), HasSubstr("16 examples of data.train"));
  EXPECT_THAT(evaluation_report(recipe("mrpc", with("mrpc")), m),
              HasSubstr(str("GLUE metrics of mrpc, times 100: f1 ",
                            rounded(100 * m.measure("f1").value, 2), ", accuracy ")));
  TrialsJob trials;
  trials.recipe = dir_.file("r.yaml");
  trials.settings = with("mrpc");
  trials.settings.push_back("out=" + dir_.file("trials"));
  trials.seeds = 1;
  trials.resample.samples = 20;
  EXPECT_EQ(run_trials(trials).metric, "f1:1");
  trials.metric = "auc-macro";  // uses probabilities, and the run is not repeated
  const Trial trial = run_trials(trials).trials.at(0);
  EXPECT_EQ(trial.scores.at(0),
            score("auc-macro", "probabilities", trial.folders.at(0) + "/model/predictions.jsonl"));
  const Recipe r = recipe("sts", with("sts"));
  EXPECT_EQ(r.data["label"], "-1");
  EXPECT_EQ(r.type->metric(r), "pearson");
  const execution::Evaluation s = run("sts", with("sts"));
  EXPECT_NEAR(s.measure("spearman").value,
              score("spearman", "prediction", RecipePaths(r).predictions), 1e-9);
  EXPECT_EQ(s.measure("spearman").weight, 8);
  // The run's folder contains all it needs, even if the files have moved.
  EXPECT_EQ(load_recipe(dir_.file("sts"), {}).data["text"], "-3");
  // The submission has every row, including one without text.
  io::write_file(
      dir_.file("glue/MRPC/test.tsv"),
      "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\tcat w8\t\"dog\n1\t1\t2\t\tdog\n");
  EXPECT_THAT(write_glue_submission(recipe("mrpc", with("mrpc")), dir_.file("sent"), 4, 1),
              testing::ElementsAre(dir_.file("sent/MRPC.tsv")));
  const auto said =
      PretrainedModel::of_recipe(recipe("mrpc", with("mrpc")))
          .classifier({})
          .classify(std::vector<execution::PairOfTexts>{{"cat w8", "\"dog"}, {"", "dog"}});
  std::string want = "index\tprediction\n";
  for (std::size_t i = 0; i < 2; ++i)
    want += str(i, "\t", said[i][0] > said[i][1] ? "0" : "1", "\n");
  EXPECT_EQ(io::read_file(dir_.file("sent/MRPC.tsv")), want);
  const auto refused = [&](const Recipe& of) {
    return error_of<UsageError>([&] { write_glue_submission(of, dir_.file("sent"), 4, 1); });
  };
  EXPECT_THAT(refused(recipe("mrpc", with("mrpc"))), HasSubstr("MRPC.tsv already exists"));
  EXPECT_THAT(refused(r), HasSubstr("STS-B/test.tsv is missing"));
  io::write_file(dir_.file("glue/STS-B/test.tsv"), "index\ttexts\n0\tcat w8\tdog\n");
  write_glue_submission(r, dir_.file("sent"), 4, 1);
  EXPECT_THAT(io::read_file(dir_.file("sent/STS-B.tsv")),
              testing::MatchesRegex("index\tprediction\n0\t[0-5]\\.[0-9][0-9][0-9]\n"));
  // A field that the user sets is not changed.
  auto own = with("mrpc");
  own.push_back("data.both_orders=false");
  EXPECT_EQ(recipe("own", own).data["both_orders"], false);
  EXPECT_THAT(error_of<UsageError>([&] { recipe("x", with("mprc")); }),
              HasSubstr("data.glue: GLUE has no task 'mprc'"));
  EXPECT_THAT(error_of([&] { run("x", with("rte")); }), HasSubstr(dir_.file("glue/RTE/train.tsv")));
  EXPECT_THAT(error_of<UsageError>([&] { recipe("x", {"data.both_orders=true"}); }),
              HasSubstr("data.both_orders requires pairs of texts\n  hint: name the second"));
  EXPECT_THAT(refused(recipe("x", {"data.train=" + dir_.file("glue/MRPC/train.tsv")})),
              HasSubstr("is not a run of a GLUE task"));
}

}  // namespace
}  // namespace smelt::pipeline
