// Tests of recipes with model.type modernbert: invalid settings, and a whole run on a small text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/interop/pretrained_weights.h"
#include "io/filesystem/file.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;

constexpr const char* kSmallModernbert =
    "text: {heldout: 0.2, dedup: none, sentences: lines}\n"
    "vocab: {type: byte_bpe, size: 300, min_frequency: 1}\n"
    "data: {seq_length: 16}\n"
    "model: {type: modernbert, hidden_size: 16, num_hidden_layers: 4, num_attention_heads: 2,"
    " intermediate_size: 8, max_position_embeddings: 20, local_attention: 4}\n"
    "train: {batch_size: 8, steps: 2, schedule.warmup_steps: 0, optimizer.type: stable_adamw}\n"
    "eval: {batch_size: 4}\n";

class ModernbertRecipe : public testing::Test {
 protected:
  Recipe recipe(std::vector<std::string> settings = {}, const std::string& out = "out") {
    io::write_file(dir_.file("r.yaml"), kSmallModernbert);
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

TEST_F(ModernbertRecipe, RejectsInvalidSettingsOnLoad) {
  EXPECT_EQ(refusal({}), "no error");
  EXPECT_THAT(refusal({"data.seq_length=24"}),
              HasSubstr("data.seq_length is 24, must be at most 20 for "
                        "model.max_position_embeddings\n  hint: shorten the sequences"));
  EXPECT_THAT(refusal({"model.local_attention=0"}),
              HasSubstr("model: local_attention is 0, must be at least 1"));
  EXPECT_THAT(refusal({"model.mask_prob=1"}), HasSubstr("model.mask_prob is 1"));
  EXPECT_THAT(refusal({"model.last_mask_prob=1"}),
              HasSubstr("last_mask_prob is 1, must be above 0 and below 1, or 0 for a constant "
                        "mask_prob"));
}

TEST_F(ModernbertRecipe, TrainsExportsFillsMasksAndGivesItsSizes) {
  SMELT_OPEN_CPU(client, 1);
  write_text();
  const Recipe r = recipe();
  std::string report;
  run_recipe(r, {}, [&](const execution::Evaluation& e) { report = evaluation_report(r, e); });
  EXPECT_THAT(report, HasSubstr("of the masked tokens correct"));
  const std::string made = r.path("huggingface");
  const Json config = Json::parse(io::read_file(made + "/config.json"));
  EXPECT_EQ(config["architectures"], Json({"ModernBertForMaskedLM"}));
  EXPECT_EQ(config["attention_output_dropout"], 0.1);
  const checkpoint::PretrainedWeights model = checkpoint::load_weights(r.path("model")),
                                      exported = checkpoint::load_weights(made);
  EXPECT_EQ(exported.parameters.size(), model.parameters.size());
  for (const auto& [name, view] : model.parameters)
    EXPECT_TRUE(std::ranges::equal(view.data, exported.parameters.at(name).data)) << name;
  PretrainedModel loaded = PretrainedModel::load(made);
  EXPECT_EQ(loaded.fill_mask({"The [MASK] runs"}, 3)[0].masks.at(0).size(), 3);
  EXPECT_EQ(loaded.embed(std::vector<std::string>{"The river"})[0].mean.size(), 16);
  // A continued run takes its sizes from the folder.
  io::write_file(dir_.file("next.yaml"), "data: {seq_length: 16}\nmodel: {type: modernbert}\n");
  const Recipe next = load_recipe(dir_.file("next.yaml"), {"train.init_from=" + made});
  for (const char* field : {"hidden_size", "num_hidden_layers", "local_attention"})
    EXPECT_EQ(next.model[field], r.model[field]) << field;
}

}  // namespace
}  // namespace smelt::pipeline
