// Compression of a ModernBERT, whose layers alternate and whose matrices hold several parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/interop/stored_model.h"
#include "compress/model_stats.h"
#include "compress/product_inputs.h"
#include "compress/prune.h"
#include "compress/quantize.h"
#include "compress/units.h"
#include "io/filesystem/file.h"
#include "runs/golden_modernbert.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::compress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CompressedModernbert : public testing::Test {
 protected:
  CompressedModernbert() {
    const GoldenModernbert golden("texts");
    golden.write(dir_.file("hf"), golden.tensors("param"), golden.config());
  }
  std::string refusal(PruneJob job) const {
    job.from = dir_.file("hf");
    job.to = dir_.file("cut");
    return error_of<UsageError>([&] { prune_model(job); });
  }
  TempDir dir_;
};

TEST_F(CompressedModernbert, KeepsTheKindsOfLayers) {
  const Pruned done =
      prune_model({.from = dir_.file("hf"), .to = dir_.file("cut"), .layers = {.kept = {0, 1}}});
  EXPECT_THAT(done.stacks[0].kept, ElementsAre(0, 1));
  const Json config = Json::parse(io::read_file(dir_.file("cut/config.json")));
  EXPECT_EQ(config["layer_types"], Json({"full_attention", "sliding_attention"}));
  const auto model = checkpoint::open_stored_model(dir_.file("cut"), "test");
  EXPECT_EQ(model.config["num_hidden_layers"], 2);
  EXPECT_TRUE(model.skipped.empty());
}

TEST_F(CompressedModernbert, RejectsLayersThatWouldChangeTheirKind) {
  EXPECT_THAT(refusal({.layers = {.kept = {0, 3}}}),
              HasSubstr("hf cannot become layer 1: one in 3 layers attends to all tokens\n"
                        "  hint: keep layers such as 0,1"));
  EXPECT_THAT(refusal({.layers = {.kept = {3}}}),
              HasSubstr("hf cannot become layer 0: layer 0 must be kept"));
}

TEST_F(CompressedModernbert, RejectsPruningOfHeads) {
  io::write_file(dir_.file("rows.tsv"), "text\tlabel\na\ta\n");
  PruneJob job{.heads = 0.5};
  job.data.rows.input = dir_.file("rows.tsv");
  EXPECT_THAT(refusal(job), HasSubstr("the heads of this kind of model cannot be pruned\n"
                                      "  hint: remove --heads and --macs; use --ffn or --layers"));
}

TEST_F(CompressedModernbert, RemovesRowsOfBothHalvesOfAGatedFeedForward) {
  const SourceFolder source = open_source_folder(dir_.file("hf"));
  CompressedFolder cut{.config = source.config, .tensors = source.tensors, .step = {}};
  const auto groups = ffn_groups(cut, layer_stacks(source));
  ASSERT_EQ(groups.size(), 4);
  EXPECT_EQ(groups[1].units, 12);
  EXPECT_EQ(groups[1].products[0].parameter, "modernbert/encoder/layer_1/mlp/output/dense/kernel");
  keep_units(cut, groups[1], {2, 7});
  const std::string in = "model.layers.1.mlp.Wi.weight";
  EXPECT_EQ(cut.tensors.at("model.layers.1.mlp.Wo.weight").shape.dims, (compiler::Dims{16, 2}));
  const auto all = checkpoint::read_values<float>(source.tensors.at(in)),
             left = checkpoint::read_values<float>(cut.tensors.at(in));
  ASSERT_EQ(left.size(), 4 * 16);
  for (const auto& [row, from] : {std::pair{0, 2}, {1, 7}, {2, 12 + 2}, {3, 12 + 7}})
    EXPECT_EQ(left[row * 16 + 5], all[from * 16 + 5]) << row;
}

TEST_F(CompressedModernbert, QuantizesTheMatricesOfLayers) {
  const Quantized done = quantize_weights({.from = dir_.file("hf"), .to = dir_.file("int8")});
  EXPECT_EQ(done.tensors.size(), 4 * 4);
  const Json config = Json::parse(io::read_file(dir_.file("int8/config.json")));
  EXPECT_EQ(config["quantization_config"]["ignore"], Json({"classifier", "head.dense"}));
  EXPECT_EQ(kernel_of("model.layers.2.attn.Wqkv"),
            "modernbert/encoder/layer_2/attention/qkv/kernel");
}

TEST_F(CompressedModernbert, OperationsIncludeAttentionAndOneHead) {
  // Per token: Wqkv 16 x 48, Wo 16 x 16, Wi 16 x 24, Wo 12 x 16; scores and sums 2 x 10 x 16.
  const double layer = 10 * (768 + 256 + 384 + 192 + 320), head = 16 * 16 + 16 * 3;
  EXPECT_EQ(operations_of(open_source_folder(dir_.file("hf")), 10, 0), 4 * layer + head);
}

}  // namespace
}  // namespace smelt::compress
