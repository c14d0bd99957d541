// Tests of the section compress of a recipe, with a classifier and a T5.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/stages/pipeline.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;

class CompressRecipe : public testing::Test {
 protected:
  void write_classify(const std::string& compress) const {
    GoldenClassify("bert").write_folder(dir_.file("base"));
    std::string rows = "label\ttext\n";
    for (int i = 0; i < 22; ++i)
      rows +=
          i % 2 == 0 ? str("cats\tcat w", 8 + i % 7, "\n") : str("dogs\tdog w", 9 + i % 5, "\n");
    io::write_file(dir_.file("train.tsv"), rows);
    write_recipe("model: {type: classify}\n", ", seq_length: 8", compress);
  }
  void write_t5(const std::string& compress) const {
    GoldenT5("small").write_folder(dir_.file("base"));
    std::string rows = "source\ttarget\n";
    for (int i = 0; i < 14; ++i) rows += i % 2 == 0 ? "a bad cab\ta bed\n" : "a cab\tbad\n";
    io::write_file(dir_.file("train.tsv"), rows);
    write_recipe("model: {type: text_to_text}\n", ", inputs_length: 12, targets_length: 6",
                 compress);
  }
  void write_recipe(const std::string& model, const std::string& lengths,
                    const std::string& compress) const {
    io::write_file(
        dir_.file("r.yaml"),
        str("out: ", dir_.file("out"), "\ndata: {train: ", dir_.file("train.tsv"), lengths,
            ", validation_share: 0.4}\n", model, "train: {init_from: ", dir_.file("base"),
            ", batch_size: 4, steps: 1}\neval: {batch_size: 4}\ncompress: {", compress,
            ", batches: '1,2', lengths: '4', rounds: 1}\n"));
  }
  void run() const { run_recipe(load_recipe(dir_.file("r.yaml"), {})); }
  Json report() const { return Json::parse(io::read_file(dir_.file("out/compress/report.json"))); }
  CapturedLog log_;
  TempDir dir_;
};

TEST_F(CompressRecipe, PrunesQuantizesAndReportsOnAClassifier) {
  REQUIRE_PLUGIN("cpu");
  write_classify(
      "layers: 1, ffn: 0.5, heads: 0.5, int8: true, activations: dynamic, "
      "max_drop: 100");
  run();
  const Json said = report();
  ASSERT_EQ(said["models"].size(), 3);
  EXPECT_EQ(said["models"][1]["name"], "cut");
  EXPECT_EQ(said["models"][2]["steps"].size(), 2);
  EXPECT_EQ(said["models"][2]["steps"][1]["chosen_by"]["max_drop"], 1);
  EXPECT_EQ(said["models"][2]["steps"][1]["activations"], "dynamic");
  EXPECT_LT(said["models"][2]["bytes"], said["models"][1]["bytes"]);
  EXPECT_EQ(said["models"][2]["latency"].size(), 2);
  // Every second held-out row is a test row, and no row is in both sets.
  EXPECT_EQ(said["rows"]["examples"].get<int>() + said["rows"]["dev"]["examples"].get<int>(), 8);
  EXPECT_TRUE(io::exists(dir_.file("out/compress/report.html")));
  EXPECT_THAT(log_.text(), HasSubstr("compress: kept "));
  EXPECT_FALSE(load_recipe(dir_.file("out"), {"compress.layers=0", "compress.ffn=1",
                                              "compress.heads=1", "compress.int8=false"})
                   .compress.is_on());  // as in the recipe of the student
  const auto made = std::filesystem::last_write_time(dir_.file("out/compress/report.json"));
  run();
  EXPECT_EQ(std::filesystem::last_write_time(dir_.file("out/compress/report.json")), made);
}

TEST_F(CompressRecipe, DistillsThePrunedModelBeforeQuantization) {
  REQUIRE_PLUGIN("cpu");
  write_classify("ffn: 0.5, tune_epochs: 2, int8: true");
  run();
  const Json models = report()["models"];
  ASSERT_EQ(models.size(), 4);
  EXPECT_EQ(models[1]["name"], "cut");
  EXPECT_EQ(models[2]["name"], "taught");
  EXPECT_EQ(models[3]["name"], "int8");
  const auto weights = [&](const char* folder) {
    return io::read_file(dir_.file(str("out/compress/", folder, "/model.safetensors")));
  };
  EXPECT_EQ(weights("cut").size(), weights("taught/huggingface").size());
  EXPECT_NE(weights("cut"), weights("taught/huggingface"));
  EXPECT_THAT(io::read_file(dir_.file("out/compress/taught/recipe.yaml")),
              AllOf(HasSubstr("teacher: "), HasSubstr("tune_epochs: 0")));
}

TEST_F(CompressRecipe, PrunesDecoderLayersAndHeadsOfAT5) {
  REQUIRE_PLUGIN("cpu");
  write_t5("decoder_layers: 1, heads: 0.5");
  run();
  const Json said = report();
  ASSERT_EQ(said["models"].size(), 2);
  EXPECT_EQ(said["metrics"], Json::array({"accuracy"}));
  const Json& step = said["models"][1]["steps"][0];
  EXPECT_EQ(step["kept_decoder_layers"].size(), 1);
  EXPECT_EQ(step["heads"]["before"], 3);
  EXPECT_EQ(step["heads"]["after"], 2);
}

TEST_F(CompressRecipe, RejectsInvalidSettingsBeforeAnythingRuns) {
  write_classify("layers: 1");
  const auto refusal = [&](const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { load_recipe(dir_.file("r.yaml"), settings); });
  };
  EXPECT_THAT(refusal({"compress.layers=0", "compress.tune_epochs=1"}),
              HasSubstr("compress.tune_epochs is set, but nothing is pruned"));
  EXPECT_THAT(refusal({"compress.ffn=0"}),
              HasSubstr("compress.ffn is 0, must be above 0 and at most 1"));
  EXPECT_THAT(refusal({"compress.decoder_layers=1"}),
              HasSubstr("compress.decoder_layers is only for T5 models"));
  EXPECT_THAT(refusal({"out=gs://bucket/run"}),
              HasSubstr("compress: gs://bucket/run is remote, but compression needs a local "
                        "folder\n  hint: remove the section"));
  EXPECT_THAT(refusal({"compress.activations=statik"}),
              HasSubstr("--set: compress.activations 'statik' is unknown\n  hint: did you mean "
                        "'static'?"));
  EXPECT_THAT(
      refusal({"compress.int8=true", "compress.calibration=mse"}),
      HasSubstr("compress.calibration needs compress.activations static, but it is floats"));
  EXPECT_THAT(refusal({"compress.int8=true", "compress.activations=static",
                       "compress.calibration=minimax"}),
              HasSubstr("compress.calibration 'minimax' is unknown\n  hint: did you mean "
                        "'minmax'?"));
  EXPECT_THAT(refusal({"compress.activations=dynamic"}),
              HasSubstr("compress.activations needs compress.int8, which is false"));
  EXPECT_THAT(refusal({"compress.max_drop=1"}),
              HasSubstr("compress.max_drop needs compress.int8, which is false"));
  EXPECT_THAT(
      refusal(
          {"compress.int8=true", "data.validation_share=0", "eval.every=0", "eval.every_epochs=0"}),
      HasSubstr("compress: data.validation_share is 0, but compression needs held-out rows"));
  EXPECT_THAT(refusal({"compress.batches=1,x"}), HasSubstr("'1,x' is not a list of numbers"));
  EXPECT_THAT(refusal({"model.problem=answer_spans"}),
              HasSubstr("model.problem answer_spans is not supported"));
}

}  // namespace
}  // namespace smelt::pipeline
