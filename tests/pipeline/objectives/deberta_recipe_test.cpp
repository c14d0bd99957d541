// Tests of recipes with model.type deberta and deberta_rtd: invalid settings, whole runs on a small
// text, and fine-tuning of their models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/interop/pretrained_weights.h"
#include "io/filesystem/file.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/objectives/encoder_source.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "runs/state_values.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;

constexpr const char* kSmallDeberta =
    "text: {heldout: 0.2, dedup: none, sentences: lines}\n"
    "vocab: {type: unigram, size: 70, min_frequency: 1}\n"
    "data: {seq_length: 16}\n"
    "model: {type: deberta_rtd, hidden_size: 16, embedding_size: 8, num_hidden_layers: 2,"
    " num_attention_heads: 2, intermediate_size: 8, max_position_embeddings: 20,"
    " position_buckets: 8}\n"
    "train: {batch_size: 8, steps: 2, schedule.warmup_steps: 0}\n"
    "eval: {batch_size: 4}\n";

class DebertaRecipe : public testing::Test {
 protected:
  Recipe recipe(std::vector<std::string> settings = {}, const std::string& out = "out") {
    io::write_file(dir_.file("r.yaml"), kSmallDeberta);
    settings.push_back("out=" + dir_.file(out));
    settings.push_back("text.input=" + dir_.file("in.txt"));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  std::string refusal(const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { recipe(settings); });
  }
  void write_text() const {
    std::string text;
    for (int i = 0; i < 60; ++i)
      text += str("The river number ", i, " runs to the sea.\nIts water is ", i % 7, " green.\n\n");
    io::write_file(dir_.file("in.txt"), text);
  }
  CapturedLog log_;
  TempDir dir_;
};

TEST_F(DebertaRecipe, RejectsInvalidSettingsOnLoad) {
  EXPECT_EQ(refusal({}), "no error");
  EXPECT_THAT(refusal({"data.seq_length=24"}),
              HasSubstr("data.seq_length 24 is longer than model.max_position_embeddings 20"));
  EXPECT_THAT(refusal({"model.position_buckets=2"}),
              HasSubstr("model: position_buckets is 2, must be at least 4"));
  EXPECT_THAT(refusal({"model.mask_prob=1"}), HasSubstr("mask_prob is 1"));
  EXPECT_THAT(refusal({"model.mask_prob=0.01"}),
              HasSubstr("mask_prob 0.01 of 16 tokens masks none of them"));
  EXPECT_THAT(refusal({"model.temperature=0"}), HasSubstr("temperature is 0, must be above 0"));
  EXPECT_THAT(refusal({"model.disc_weight=-1"}),
              HasSubstr("gen_weight 1 and disc_weight -1 must be at least 0"));
  EXPECT_THAT(refusal({"model.generator_layers=2"}),
              HasSubstr("generator_layers is 2, must be above 0 and at most 1"));
  EXPECT_EQ(refusal({"model.type=deberta"}), "no error");
  io::write_file(dir_.file("hf/config.json"), R"({"model_type": "deberta-v2"})");
  io::write_file(dir_.file("hf/spm.model"), "x");
  EXPECT_EQ(vocabulary_beside(dir_.file("hf")), dir_.file("hf/spm.model"));
  EXPECT_THAT(refusal({"train.init_from=" + dir_.file("hf")}),
              HasSubstr("hf is a Hugging Face folder; model.type deberta_rtd continues only from a "
                        "checkpoint of smelt\n  hint: use model.type deberta"));
}

TEST_F(DebertaRecipe, TrainsMaskedTokensExportsAndFillsMasks) {
  SMELT_OPEN_CPU(client, 1);
  write_text();
  const Recipe r = recipe({"model.type=deberta"});
  std::string report;
  run_recipe(r, {}, [&](const execution::Evaluation& e) { report = evaluation_report(r, e); });
  EXPECT_THAT(report, HasSubstr("of the masked tokens correct"));
  const std::string made = r.path("huggingface");
  const Json config = Json::parse(io::read_file(made + "/config.json"));
  EXPECT_EQ(config["architectures"], Json({"DebertaV2ForMaskedLM"}));
  const checkpoint::PretrainedWeights model = checkpoint::load_weights(r.path("model")),
                                      exported = checkpoint::load_weights(made);
  EXPECT_EQ(exported.parameters.size(), model.parameters.size());
  for (const auto& [name, view] : model.parameters)
    EXPECT_TRUE(std::ranges::equal(view.data, exported.parameters.at(name).data)) << name;
  PretrainedModel loaded = PretrainedModel::load(made);
  EXPECT_EQ(loaded.fill_mask({"The [MASK] runs"}, 3)[0].masks.at(0).size(), 3);
  EXPECT_EQ(loaded.embed(std::vector<std::string>{"The river"})[0].mean.size(), 16);
  EXPECT_THAT(error_of<UsageError>([&] { loaded.detect({"The river"}); }),
              HasSubstr("has no head that detects replaced tokens\n  hint: name the folder of a "
                        "discriminator"));
  // A continued run takes its sizes from the folder.
  io::write_file(dir_.file("next.yaml"), "data: {seq_length: 16}\nmodel: {type: deberta}\n");
  const Recipe next = load_recipe(dir_.file("next.yaml"), {"train.init_from=" + made});
  for (const char* field : {"hidden_size", "embedding_size", "position_buckets"})
    EXPECT_EQ(next.model[field], r.model[field]) << field;
}

// The discriminator's embeddings are the generator's plus a difference.
TEST_F(DebertaRecipe, TrainsOnReplacedTokensResumesAndFineTunesTheDiscriminator) {
  SMELT_OPEN_CPU(client, 1);
  write_text();
  const std::string constant = "train.schedule.type=constant";
  const Recipe r = recipe({"train.steps=4", constant});
  std::string report;
  run_recipe(r, {}, [&](const execution::Evaluation& e) { report = evaluation_report(r, e); });
  EXPECT_THAT(report, HasSubstr("generator: "));
  // A run that stops after two steps and resumes has the same bits.
  run_recipe(recipe({"train.steps=2", constant}, "resumed"), {}, {});
  run_recipe(recipe({"train.steps=4", constant}, "resumed"), {}, {});
  EXPECT_TRUE(stored_values(dir_.file("resumed/model"), 4) == stored_values(r.path("model"), 4));

  const std::string made = r.path("huggingface");
  const auto weights = [&](const std::string& folder) { return checkpoint::load_weights(folder); };
  const auto values = [](const checkpoint::PretrainedWeights& of, const char* name) {
    return io::tensor_values<float>(of.parameters.at(name));
  };
  const char* words = "deberta/embeddings/word_embeddings";
  const auto model = weights(r.path("model")), discriminator = weights(made + "/discriminator"),
             generator = weights(made + "/generator");
  const auto shared = values(model, "deberta_generator/embeddings/word_embeddings"),
             delta = values(model, "deberta/embeddings/word_embeddings_delta"),
             sum = values(discriminator, words);
  EXPECT_EQ(values(generator, words), shared);
  EXPECT_EQ(values(model, words), sum);
  ASSERT_EQ(sum.size(), shared.size());
  EXPECT_TRUE(std::ranges::any_of(delta, [](float x) { return x != 0; }));
  for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], shared[i] + delta[i]);
  EXPECT_EQ(generator.model["num_hidden_layers"], 1);
  EXPECT_EQ(discriminator.model["num_hidden_layers"], 2);
  EXPECT_EQ(model::encoder_config_json(encoder_in(r.path("model"), "test")),
            model::encoder_config_json(encoder_in(made + "/discriminator", "test")));
  PretrainedModel loaded = PretrainedModel::load(made + "/discriminator");
  EXPECT_GT(loaded.detect({"The river runs"})[0].size(), 2);
  EXPECT_THAT(
      error_of<UsageError>([&] { PretrainedModel::load(r.out, {.task = InferenceTask::detect}); }),
      HasSubstr("detect: a run of type deberta_rtd trains two models\n  hint: use the "
                "discriminator in its folder huggingface/discriminator"));
  EXPECT_EQ(PretrainedModel::load(made + "/generator").fill_mask({"[MASK]"}, 1).size(), 1);

  io::write_file(dir_.file("rows.tsv"),
                 "text\tlabel\nThe river runs\tyes\nIts water is\tno\n"
                 "The sea\tyes\nwater is green\tno\n");
  io::write_file(dir_.file("c.yaml"),
                 "data: {seq_length: 12, validation_share: 0.5}\nmodel: {type: classify}\n"
                 "train: {batch_size: 2, steps: 1}\neval: {batch_size: 2}\n");
  const Recipe tune = load_recipe(dir_.file("c.yaml"),
                                  {"train.init_from=" + made, "data.train=" + dir_.file("rows.tsv"),
                                   "out=" + dir_.file("tuned")});
  run_recipe(tune, {}, {});
  const Json config = Json::parse(io::read_file(dir_.file("tuned/huggingface/config.json")));
  EXPECT_EQ(config["architectures"], Json({"DebertaV2ForSequenceClassification"}));
  EXPECT_EQ(config["num_hidden_layers"], 2);
}

}  // namespace
}  // namespace smelt::pipeline
