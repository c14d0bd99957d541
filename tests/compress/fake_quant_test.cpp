// Quantization-aware training: the fake-quantized weights, and the predictions of the int8 folder.
#include "model/tasks/fake_quant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "checkpoint/interop/int8_weights.h"
#include "compress/folder_scores.h"
#include "compress/quantize.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/objectives/distill_recipe.h"
#include "runs/golden_classify.h"
#include "runs/probe.h"
#include "support/command.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// Returns the mean of -log p(label) for logits [B,3].
double loss_of(const std::vector<float>& logits, std::span<const std::int32_t> labels) {
  double out = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += std::exp(logits[3 * row + c]);
    out += std::log(sum) - logits[3 * row + static_cast<std::size_t>(labels[row])];
  }
  return out / static_cast<double>(labels.size());
}

TEST(FakeQuantFolder, LossMatchesNumpyIntegers) {
  REQUIRE_ORACLE();
  SMELT_OPEN_CPU(client, 1);
  const GoldenClassify golden("bert");
  const TempDir dir;
  golden.write_folder(dir.file("hf"));
  quantize_weights(
      {.from = dir.file("hf"), .to = dir.file("int8"), .activations = Activations::by_row});
  const data::Batch batch = golden.batch();
  const auto labels = batch.arrays[3].values<std::int32_t>();
  const auto loss_by = [&](const model::Task& task) {
    return step_gradients(client, task, {}, batch, golden.state()).loss;
  };
  const model::Task floats = model::classify_task(golden.settings());
  const double later =
      loss_of(logits_by("int8_products_twin.py", golden, dir.file("int8")), labels);
  EXPECT_NEAR(loss_by(model::fake_quantized(floats)), later, 2e-5 * later);
  EXPECT_GT(std::abs(loss_by(floats) - later), 2e-4 * later);
}

class FakeQuantCommand : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    GoldenClassify("bert").write_folder(dir_.file("base"));
    std::string rows = "label\ttext\n";
    for (int i = 0; i < 20; ++i)
      rows += str(i % 2 == 0 ? "cats\tcat" : "dogs\tdog", " w", 8 + i % 7, "\n");
    io::write_file(dir_.file("train.tsv"), rows);
    io::write_file(
        dir_.file("r.yaml"),
        str("out: ", dir_.file("large"), "\ndata: {train: ", dir_.file("train.tsv"),
            ", seq_length: 8, validation_share: 0.3}\nmodel: {type: classify}\ntrain: {init_from: ",
            dir_.file("base"), ", batch_size: 4, steps: 2}\neval: {batch_size: 4}\n"));
    smelt("run " + dir_.file("r.yaml"));
  }
  static std::string smelt(const std::string& words) {
    const CommandOutput output = run_smelt(words);
    EXPECT_EQ(output.status, 0) << output.text;
    return output.text;
  }
  static void fails(const std::string& words, const std::string& why) {
    const CommandOutput output = run_smelt(words);
    EXPECT_EQ(output.status, 2) << output.text;
    EXPECT_THAT(output.text, HasSubstr(why));
  }
  TempDir dir_;
};

TEST_F(FakeQuantCommand, TrainsThenQuantizes) {
  const std::string quantize = str("compress quantize ", dir_.file("large"), " --out ");
  const std::string train = " --train " + dir_.file("taught");
  fails(quantize + dir_.file("int8") + train + " --weights int4",
        "--train with --weights int4: training requires --weights int8");
  fails(quantize + dir_.file("int8") + train + " --activations floats",
        "--train with --activations floats: training requires dynamic activations");
  fails(quantize + dir_.file("base") + train, dir_.file("base"));
  fails(str("compress quantize ", dir_.file("base"), " --out ", dir_.file("int8"), train),
        "base has no stored recipe with data and task");
  EXPECT_FALSE(io::exists(dir_.file("taught")));
  EXPECT_THAT(smelt(quantize + dir_.file("int8") + train + " --set train.steps=3"),
              AllOf(HasSubstr("kd_loss"), HasSubstr("12 matrices in 8 bits")));
  const Json config = Json::parse(io::read_file(dir_.file("int8/config.json")));
  EXPECT_EQ(config["quantization_config"]["config_groups"]["group_0"]["input_activations"],
            checkpoint::activations_by_row());
  EXPECT_THAT(io::read_file(dir_.file("taught/recipe.yaml")), HasSubstr("fake_quant: true"));
  EXPECT_THAT(smelt(str("predict ", dir_.file("int8"), " --text 'cat w9'")),
              AnyOf(HasSubstr("cats"), HasSubstr("dogs")));
  // Later distillation from this model does not use fake quantization unless it is set.
  const pipeline::Recipe again = pipeline::distill_recipe(
      dir_.file("taught"), dir_.file("taught/huggingface"), dir_.file("again"), {});
  EXPECT_FALSE(again.train.fake_quant);
  // A run cannot be resumed with another value.
  fails(str("run ", dir_.file("taught"), " --set train.fake_quant=false --set train.steps=5"),
        "fake_quant true, this run has false");
  fails(str("run ", dir_.file("large"), " --set train.fake_quant=true --set train.steps=5"),
        "fake_quant false, this run has true");
}

TEST_F(FakeQuantCommand, RejectsModelsThatCannotBeQuantized) {
  fails(str("run ", source_path("recipes/demo.yaml"), " --set out=", dir_.file("no"),
            " --set train.fake_quant=true --dry-run"),
        "train.fake_quant: a model of type bert cannot be quantized");
}

}  // namespace
}  // namespace smelt::compress
