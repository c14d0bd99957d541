// Tests of recipes with model.type embedding: whole runs, resuming, export, and invalid settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/interop/sentence_transformers.h"
#include "io/filesystem/file.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/stages/pipeline.h"
#include "runs/golden_classify.h"
#include "runs/state_values.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "text/readers/lines.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;

class EmbeddingRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    GoldenClassify("bert").write_folder(dir_.file("base"));
    std::string pairs, scored;
    for (int i = 0; i < 20; ++i) {
      pairs += str(R"({"anchor": "cat w)", 8 + i % 7, R"(", "positive": "dog w)", 8 + i % 5,
                   R"(", "negative": "bird w)", 8 + i % 3, "\"}\n");
      scored += str(R"({"sentence1": "cat w)", 8 + i % 7, R"(", "sentence2": "dog w)", 8 + i % 5,
                    R"(", "score": )", i % 6, "}\n");
    }
    io::write_file(dir_.file("pairs.jsonl"), pairs);
    io::write_file(dir_.file("scored.jsonl"), scored);
    io::write_file(dir_.file("r.yaml"),
                   str("data: {train: ", dir_.file("pairs.jsonl"),
                       ", seq_length: 8, validation_share: 0.3}\nmodel: {type: embedding}\n"
                       "train: {init_from: ",
                       dir_.file("base"),
                       ", batch_size: 4, steps: 4, schedule.warmup_steps: 100, "
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
    return error_of<UsageError>([&] { recipe("refused", settings); });
  }
  std::string weights(const std::string& out) const {
    return stored_values(dir_.file(out + "/model"), 4);
  }
  std::vector<std::string> scores() const {
    return {"model.loss=cosent", "data.train=" + dir_.file("scored.jsonl"), "data.max_score=5"};
  }
  CapturedLog log_;
  TempDir dir_;
};

TEST_F(EmbeddingRun, TrainsOnPairsWithNegativesRanksHeldOutTextsAndExports) {
  const execution::Evaluation e = run("m", {"data.negative=negative", "model.matryoshka=8"});
  EXPECT_EQ(e.examples, 6);
  for (const char* name : {"in_batch_accuracy", "ndcg_at_10", "mrr_at_10", "recall_at_10"}) {
    EXPECT_GE(e.measure(name).value, 0) << name;
    EXPECT_LE(e.measure(name).value, 1) << name;
  }
  EXPECT_GT(e.measure("ranking_loss_8").value, 0);
  EXPECT_THAT(log_.text(), HasSubstr("occurs in an earlier row; it is not a negative"));
  EXPECT_THAT(log_.text(), testing::Not(HasSubstr("is not read")));
  text::LineReader lines(dir_.file("m/model/predictions.jsonl"));
  std::string line;
  ASSERT_TRUE(lines.next(line));
  const Json row = Json::parse(line);
  EXPECT_THAT(row["pair"].get<std::string>(), HasSubstr("dog"));
  EXPECT_GT(row["prediction"].get<double>(), 0);
  EXPECT_LE(row["similarity"].get<double>(), 1.00001);

  const auto form = checkpoint::sentence_transformers_form(dir_.file("m/huggingface"));
  EXPECT_EQ(form, (io::EmbeddingForm{.normalize = true, .seq_length = 8}));
  const std::vector<std::string> texts{"cat w8", "", "dog w9 w10 w11 w12 w13 w8 w9"};
  const auto of_run = PretrainedModel::load(dir_.file("m")).text_embedder(2).embed(texts);
  auto exported = PretrainedModel::load(dir_.file("m/huggingface")).text_embedder(32);
  const auto of_folder = exported.embed(texts);
  EXPECT_EQ(exported.cut(), 1);
  ASSERT_EQ(of_run.values.size(), 3 * of_run.width);
  ASSERT_EQ(of_folder.values.size(), of_run.values.size());
  for (std::size_t i = 0; i < of_run.values.size(); ++i)
    EXPECT_NEAR(of_folder.values[i], of_run.values[i], 1e-5) << i;
}

TEST_F(EmbeddingRun, TrainsOnScoresAndKeepsTheCheckpointWithTheBestSpearman) {
  auto settings = scores();
  settings.insert(settings.end(),
                  {"eval.every=2", "train.checkpoint.best_metric=spearman", "train.devices=2"});
  const execution::Evaluation e = run("m", settings);
  EXPECT_THAT(log_.text(), HasSubstr("spearman"));
  EXPECT_NEAR(e.measure("pearson").value, 0, 1);
  EXPECT_GT(e.measure("cosent_loss").value, 0);
}

TEST_F(EmbeddingRun, ResumesBitIdentically) {
  const std::vector<std::string> settings{"train.gradient_accumulation_steps=2",
                                          "data.lengths=5"};  // 5 and 8
  run("whole", settings);
  run("cut", {settings[0], settings[1], "train.steps=2"});
  run("cut", settings);
  EXPECT_TRUE(weights("cut") == weights("whole"));
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"model.scale=5", "train.steps=6"}); }),
              HasSubstr("scale"));
}

TEST_F(EmbeddingRun, TakesThePoolingOfASentenceTransformersFolderAndWarnsOfUnreadNegatives) {
  run("m", {"model.pooling=cls"});
  EXPECT_THAT(
      log_.text(),
      HasSubstr("is not read\n  hint: to train with these hard negatives, set data.negative "
                "to negative"));
  const Recipe next = recipe("n", {"train.init_from=" + dir_.file("m/huggingface")});
  EXPECT_EQ(next.type->task(next).settings["embedding"]["pooling"], "cls");
}

TEST_F(EmbeddingRun, RejectsInvalidSettingsOnLoad) {
  EXPECT_EQ(refusal({}), "no error");
  EXPECT_THAT(refusal({"model.pooling=max"}), HasSubstr("pooling"));
  EXPECT_THAT(refusal({"train.batch_size=1"}), HasSubstr("must be at least 2: the loss compares "
                                                         "the rows of a batch"));
  EXPECT_THAT(
      refusal({"train.parallelism.reduction=per_replica"}),
      HasSubstr("train.parallelism.reduction per_replica cannot be combined with model.type "
                "embedding"));
  EXPECT_THAT(refusal({"model.matryoshka=8,x"}),
              HasSubstr("model.matryoshka: 'x' is not a whole number above 0"));
  EXPECT_THAT(refusal({"data.lengths=none"}),
              HasSubstr("data.lengths: 'none' is not a whole number above 0\n  hint: write auto, "
                        "one, or lengths such as 32,64"));
  EXPECT_THAT(refusal({"data.score=x"}), HasSubstr("model.loss ranking reads no scores"));
  EXPECT_THAT(refusal({"model.loss=cosent", "data.negative=n"}),
              HasSubstr("data.negative and data.negatives are only for model.loss ranking"));
  EXPECT_THAT(refusal({"model.loss=cosine", "model.similarity=dot"}),
              HasSubstr("model.similarity dot is only for model.loss ranking"));
  EXPECT_THAT(refusal({"data.negatives=2"}), HasSubstr("data.negatives needs data.negative"));
}

TEST_F(EmbeddingRun, EmbedRejectsModelsThatAreNotEmbeddingModels) {
  const PretrainedModel base = PretrainedModel::load(dir_.file("base"));
  EXPECT_THAT(error_of<UsageError>([&] { base.text_embedder(8); }),
              HasSubstr("is not an embedding model: it has neither modules.json of "
                        "sentence-transformers nor the settings of model.type embedding"));
  auto embedder = base.text_embedder(8, {.pooling = io::Pooling::cls, .normalize = true});
  const auto rows = embedder.embed(std::vector<std::string>{"cat"});
  double squares = 0;
  for (const float x : rows.values) squares += x * x;
  EXPECT_NEAR(squares, 1, 1e-5);
}

}  // namespace
}  // namespace smelt::pipeline
