// Models with removed layers: the layers that are kept, and equal results in other programs.
#include "compress/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "checkpoint/interop/stored_model.h"
#include "compress/cut_tensors.h"
#include "compress/folder_scores.h"
#include "compress/quantize.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/safetensors.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PrunedClassifier : public testing::TestWithParam<const char*> {
 protected:
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, PrunedClassifier, testing::Values("bert", "electra"),
                         [](const auto& info) { return info.param; });

TEST_P(PrunedClassifier, KeepsAndRenumbersTheChosenLayers) {
  GoldenClassify(GetParam()).write_folder(dir_.file("hf"));
  const Pruned done =
      prune_model({.from = dir_.file("hf"), .to = dir_.file("cut"), .layers = {.kept = {1}}});
  ASSERT_EQ(done.stacks.size(), 1);
  EXPECT_THAT(done.stacks[0].kept, ElementsAre(1));
  EXPECT_EQ(done.stacks[0].before, 2);
  const checkpoint::StoredModel before = checkpoint::open_stored_model(dir_.file("hf"), "test"),
                                after = checkpoint::open_stored_model(dir_.file("cut"), "test");
  EXPECT_EQ(after.config["num_hidden_layers"], 1);
  EXPECT_EQ(after.objective, before.objective);
  EXPECT_TRUE(after.skipped.empty());
  std::size_t in_layer = 0;
  for (const auto& [name, tensor] : after.tensors) {
    std::string was = name;
    if (const auto at = was.find("/layer_0/"); at != was.npos) {
      was[at + 7] = '1';
      ++in_layer;
    }
    EXPECT_EQ(tensor.read(), before.tensors.at(was).read()) << name;
  }
  EXPECT_EQ(in_layer, 16);
  EXPECT_EQ(before.tensors.size() - after.tensors.size(), in_layer);
  EXPECT_LT(done.parameters, done.parameters_before);
  EXPECT_LT(done.bytes, done.bytes_before);
}

TEST_P(PrunedClassifier, ScoresMatchTransformers) {
  REQUIRE_ORACLE();
  REQUIRE_PLUGIN("cpu");
  const GoldenClassify golden(GetParam());
  golden.write_folder(dir_.file("hf"));
  prune_model({.from = dir_.file("hf"), .to = dir_.file("cut"), .layers = {.count = 1}});
  expect_transformers_scores(golden, dir_.file("cut"), scores_of_folder(golden, dir_.file("cut")));
  EXPECT_NE(scores_of_folder(golden, dir_.file("cut")), scores_of_folder(golden, dir_.file("hf")));
}

class PrunedT5 : public testing::TestWithParam<const char*> {
 protected:
  PrunedT5() { GoldenT5(GetParam()).write_folder(dir_.file("hf")); }
  // Zeroes the two matrices that produce a layer's residual, so that these layers add nothing.
  void silence(const std::vector<std::string>& layers) const {
    const io::SafetensorsFile file(io::read_file(dir_.file("hf/model.safetensors")), "hf");
    io::TensorMap tensors = file.tensors();
    std::vector<std::vector<std::byte>> zeros;
    zeros.reserve(tensors.size());
    for (auto& [name, view] : tensors)
      for (const std::string& layer : layers)
        if (name.starts_with(layer) &&
            (name.ends_with(".o.weight") || name.ends_with(".wo.weight")))
          view.data = zeros.emplace_back(view.data.size());
    ASSERT_EQ(zeros.size(), 2 + 3);
    io::write_file(dir_.file("hf/model.safetensors"),
                   io::safetensors_bytes(tensors, file.metadata()));
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, PrunedT5, testing::Values("small", "gated"),
                         [](const auto& info) { return info.param; });

TEST_P(PrunedT5, OutputsDoNotChangeWithoutUnusedLayers) {
  REQUIRE_PLUGIN("cpu");
  silence({"encoder.block.0.", "decoder.block.1."});
  const Pruned done = prune_model({.from = dir_.file("hf"),
                                   .to = dir_.file("cut"),
                                   .layers = {.kept = {1}},
                                   .decoder_layers = {.count = 2}});
  EXPECT_THAT(done.stacks[0].kept, ElementsAre(1));
  EXPECT_THAT(done.stacks[1].kept, ElementsAre(0, 2));
  EXPECT_EQ(answers_of_folder(dir_.file("cut")), answers_of_folder(dir_.file("hf")));
  prune_model({.from = dir_.file("hf"), .to = dir_.file("other"), .layers = {.kept = {0}}});
  EXPECT_NE(answers_of_folder(dir_.file("other")), answers_of_folder(dir_.file("hf")));
}

TEST_P(PrunedT5, TransformersLoadsAllWeights) {
  REQUIRE_ORACLE();
  prune_model({.from = dir_.file("hf"), .to = dir_.file("cut"), .decoder_layers = {.count = 1}});
  const auto result =
      run_oracle(str(source_path("tools/check_hf_folder.py"), " ", dir_.file("cut")));
  EXPECT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("all weights loaded"));
  const Json config = Json::parse(io::read_file(dir_.file("cut/config.json")));
  EXPECT_EQ(config["num_layers"], 2);
  EXPECT_EQ(config["num_decoder_layers"], 1);
}

TEST(SpreadLayers, AreEvenlySpacedAndIncludeBothEnds) {
  EXPECT_THAT(spread_layers(1, 12), ElementsAre(0));
  EXPECT_THAT(spread_layers(2, 12), ElementsAre(0, 11));
  EXPECT_THAT(spread_layers(3, 12), ElementsAre(0, 6, 11));
  EXPECT_THAT(spread_layers(6, 12), ElementsAre(0, 2, 4, 7, 9, 11));
  EXPECT_THAT(spread_layers(3, 3), ElementsAre(0, 1, 2));
}

class Prune : public testing::Test {
 protected:
  void SetUp() override { GoldenClassify("bert").write_folder(dir_.file("hf")); }
  std::string refusal(PruneJob job, const std::string& from = "hf") const {
    job.from = dir_.file(from);
    if (job.to.empty()) job.to = dir_.file("cut");
    return error_of<UsageError>([&] { prune_model(job); });
  }
  TempDir dir_;
};

TEST_F(Prune, RejectsInvalidLayers) {
  EXPECT_THAT(
      refusal({}),
      HasSubstr(
          "hf: no option removes layers, heads or neurons\n  hint: choose what to keep, such"));
  EXPECT_THAT(refusal({.layers = {.count = 2}}), HasSubstr("compress: nothing to prune in "));
  EXPECT_THAT(refusal({.layers = {.count = 3}}),
              HasSubstr("compress: cannot keep 3 layers: " + dir_.file("hf") + " has 2\n"));
  EXPECT_THAT(refusal({.layers = {.count = 0}}), HasSubstr("compress: cannot keep 0 layers: "));
  EXPECT_THAT(refusal({.layers = {.kept = {0, 2}}}),
              HasSubstr("compress: no layer 2: the layers of " + dir_.file("hf") + " are 0 to 1"));
  EXPECT_THAT(refusal({.layers = {.kept = {1, 0}}}),
              HasSubstr("compress: 1,0 is not in ascending order: the layers of "));
  EXPECT_THAT(refusal({.layers = {.kept = {1}, .count = 1}}),
              HasSubstr("compress: the layers to keep are given both as a list and as a count"));
  EXPECT_THAT(refusal({.decoder_layers = {.count = 1}}), HasSubstr("hf has no decoder"));
  EXPECT_FALSE(io::exists(dir_.file("cut")));
}

TEST_F(Prune, RejectsPruningTwiceOrAfterQuantization) {
  EXPECT_EQ(refusal({.layers = {.count = 1}}), "no error");
  EXPECT_THAT(refusal({.to = dir_.file("again"), .layers = {.count = 1}}, "cut"),
              HasSubstr("cut is already pruned\n  hint: prune the original model"));
  quantize_weights({.from = dir_.file("cut"), .to = dir_.file("int8")});
  const Json steps = Json::parse(io::read_file(dir_.file("int8/compress.json")))["steps"];
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0]["method"], "prune");
  EXPECT_EQ(steps[0]["kept_layers"], Json::array({0}));
  EXPECT_EQ(steps[1]["method"], "weights int8");
  EXPECT_THAT(refusal({.to = dir_.file("again"), .layers = {.count = 1}}, "int8"),
              HasSubstr("its weights are already quantized"));
  EXPECT_FALSE(io::exists(dir_.file("again")));
}

}  // namespace
}  // namespace smelt::compress
