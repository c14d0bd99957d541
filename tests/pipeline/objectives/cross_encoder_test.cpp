// A CrossEncoder folder of sentence-transformers has the same scores in smelt
// (tools/golden_cross_encoder.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/filesystem/file.h"
#include "pipeline/objectives/pretrained_model.h"
#include "support/captured_log.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

class CrossEncoderFolder : public testing::Test {
 protected:
  std::string folder() const { return source_path("tests/golden/cross_encoder/v6"); }
  Json golden() const { return Json::parse(io::read_file(folder() + "/scores.json")); }
  // Returns the predictions for the golden pairs.
  std::vector<TextLabel> predict(PretrainedModel& model) const {
    std::vector<execution::PairOfTexts> pairs;
    for (const Json& pair : golden()["pairs"])
      pairs.push_back({pair[0].get<std::string>(), pair[1].get<std::string>()});
    return model.classify(pairs, {.batch_size = 2});
  }
};

TEST_F(CrossEncoderFolder, HasTheSameScoresInSmelt) {
  SMELT_OPEN_CPU(client, 1);
  const CapturedLog log;
  PretrainedModel model = PretrainedModel::load(folder());
  EXPECT_EQ(model.labels().problem, io::Problem::rerank);
  const auto got = predict(model);
  const Json want = golden()["scores"];
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i].outputs[0], want[i].get<double>(), 1e-5) << i;
  EXPECT_THAT(log.text(), testing::Not(testing::HasSubstr("gelu")));
}

// Versions 4 and 5 state the activation in config.json, earlier ones in another field of it.
TEST_F(CrossEncoderFolder, StatesTheActivationInTheFormOfItsVersion) {
  SMELT_OPEN_CPU(client, 1);
  for (const auto& [field, value] :
       {std::pair{"sentence_transformers",
                  Json{{"activation_fn", "torch.nn.modules.activation.Sigmoid"}}},
        {"sbert_ce_default_activation_function", Json("torch.nn.modules.linear.Identity")}}) {
    const TempDir dir;
    for (const char* file : {"model.safetensors", "tokenizer.json", "tokenizer_config.json",
                             "sentence_bert_config.json"})
      io::write_file(dir.file(file), io::read_file(folder() + "/" + file));
    Json config = Json::parse(io::read_file(folder() + "/config.json"));
    config[field] = value;
    io::write_file(dir.file("config.json"), config.dump());
    PretrainedModel model = PretrainedModel::load(dir.path());
    const bool is_sigmoid = value.is_object();
    EXPECT_EQ(model.labels().problem, is_sigmoid ? io::Problem::rerank : io::Problem::regression);
    const double score = golden()["scores"][0].get<double>();
    EXPECT_NEAR(predict(model)[0].outputs[0], is_sigmoid ? score : std::log(score / (1 - score)),
                2e-5);
  }
}

}  // namespace
}  // namespace smelt::pipeline
