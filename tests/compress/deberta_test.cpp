// Compression of DeBERTa: layers, feed-forward neurons, int8 matrices, and the inputs of matrices
// that also apply to relative embeddings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/interop/stored_model.h"
#include "compress/input_sums.h"
#include "compress/model_stats.h"
#include "compress/product_inputs.h"
#include "compress/prune.h"
#include "compress/prune_data.h"
#include "compress/quantize.h"
#include "io/filesystem/file.h"
#include "runs/golden_deberta.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CompressedDeberta : public testing::Test {
 protected:
  CompressedDeberta() {
    const GoldenDeberta golden("texts");
    golden.write(dir_.file("hf"), golden.tensors("param"), golden.config());
  }
  TempDir dir_;
};

TEST_F(CompressedDeberta, KeepsTheChosenLayer) {
  const Pruned done =
      prune_model({.from = dir_.file("hf"), .to = dir_.file("cut"), .layers = {.kept = {1}}});
  EXPECT_THAT(done.stacks[0].kept, ElementsAre(1));
  const auto model = checkpoint::open_stored_model(dir_.file("cut"), "test");
  EXPECT_EQ(model.config["num_hidden_layers"], 1);
  EXPECT_TRUE(model.skipped.empty());
}

TEST_F(CompressedDeberta, RejectsPruningOfHeads) {
  io::write_file(dir_.file("rows.tsv"), "text\tlabel\na\ta\n");
  PruneJob job{.from = dir_.file("hf"), .to = dir_.file("cut"), .heads = 0.5};
  job.data.rows.input = dir_.file("rows.tsv");
  EXPECT_THAT(error_of<UsageError>([&] { prune_model(job); }),
              HasSubstr("the heads of this kind of model cannot be pruned"));
}

TEST_F(CompressedDeberta, QuantizesTheMatricesOfLayers) {
  const Quantized done = quantize_weights({.from = dir_.file("hf"), .to = dir_.file("int8")});
  EXPECT_EQ(done.tensors.size(), 2 * 6);
  EXPECT_EQ(kernel_of("deberta.encoder.layer.1.attention.self.query_proj"),
            "deberta/encoder/layer_1/attention/self/query_proj/kernel");
}

// The query and key matrices apply to the tokens and to 16 relative embeddings.
TEST_F(CompressedDeberta, InputsOfAMatrixAreThoseOfTheTokens) {
  REQUIRE_PLUGIN("cpu");
  io::write_file(dir_.file("rows.tsv"), "text\tlabel\nab c\ta\nd\tb\n");
  PruneData data{.seq_length = 8, .target_length = 8, .batch_size = 2};
  data.rows.input = dir_.file("rows.tsv");
  const std::string self = "deberta/encoder/layer_0/attention/self/";
  std::vector<InputSums> sums;
  PruneRows(open_source_folder(dir_.file("hf")), data)
      .each_input(
          {self + "query_proj/kernel", self + "key_proj/kernel", self + "value_proj/kernel"},
          [&](InputSums of) { sums.push_back(std::move(of)); });
  ASSERT_EQ(sums.size(), 1);
  EXPECT_EQ(sums[0].parameters.size(), 3);
  EXPECT_EQ(sums[0].rows, 5 + 4) << "[CLS] ▁ab ▁ c [SEP], [CLS] ▁ d [SEP]";
}

TEST_F(CompressedDeberta, OperationsIncludeRelativePositionsAndOneHead) {
  // Per layer: six matrices per token; scores and sums 2 x 10 x 10 x 16; two products with 19
  // relative positions.
  const double layer = 10 * (4 * 256 + 2 * 384) + 2 * 100 * 16 + 2 * 10 * 19 * 16;
  const double head = 16 * 16 + 16 * 3;
  EXPECT_EQ(operations_of(open_source_folder(dir_.file("hf")), 10, 0), 2 * layer + head);
}

}  // namespace
}  // namespace smelt::compress
