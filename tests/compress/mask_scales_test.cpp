// Scaling factors for the neurons and heads that remain after pruning: they restore the output if
// duplicates are pruned, and match NumPy's least squares.
#include "compress/mask_scales.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "checkpoint/interop/cut_heads.h"
#include "compress/folder_scores.h"
#include "compress/prune.h"
#include "compress/prune_data.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "support/largest_difference.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

// Copies the rows or columns of each even unit to the odd unit after it.
io::LazyTensor with_twins(const io::LazyTensor& tensor, std::int64_t units, bool columns) {
  return {tensor.shape, [tensor, units, columns] {
            std::vector<std::byte> bytes = tensor.read();
            const std::int64_t rows = columns ? tensor.shape.dims[0] : 1;
            const std::size_t run =
                bytes.size() / static_cast<std::size_t>(rows) / static_cast<std::size_t>(units);
            for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
              for (std::int64_t unit = 0; unit + 1 < units; unit += 2) {
                std::byte* at =
                    bytes.data() +
                    (r * static_cast<std::size_t>(units) + static_cast<std::size_t>(unit)) * run;
                std::memcpy(at + run, at, run);
              }
            return bytes;
          }};
}

class RescaledUnits : public testing::TestWithParam<const char*> {
 protected:
  static bool is_t5() { return std::string_view(GetParam()) == "gated"; }
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    write_golden_folder(GetParam(), is_t5(), dir_);
  }
  PruneData rows() const {
    PruneData out{.seq_length = 10, .target_length = 6, .batch_size = 8};
    out.rows.input = dir_.file("rows.tsv");
    return out;
  }
  static std::vector<PruneGroup> groups_of(const SourceFolder& source, CompressedFolder& folder) {
    std::vector<PruneGroup> groups = ffn_groups(folder, layer_stacks(source));
    for (PruneGroup& group : head_groups(folder, layer_stacks(source)))
      groups.push_back(std::move(group));
    return groups;
  }
  void write_twins() const {
    const SourceFolder source = open_source_folder(dir_.file("hf"));
    CompressedFolder twins{.config = source.config, .tensors = source.tensors, .step = {}};
    const auto twin = [&](const std::string& name, std::int64_t units, bool columns) {
      io::LazyTensor& tensor = twins.tensors.at(name);
      tensor = with_twins(tensor, units, columns);
    };
    for (const PruneGroup& group : groups_of(source, twins)) {
      for (const PruneTarget& product : group.products) {
        twin(product.output, group.units, true);
        for (const std::string& name : product.inputs) twin(name, group.units, false);
      }
      if (!group.table.empty()) twin(group.table, group.units, true);
    }
    write_compressed_folder(dir_.file("twins"), source, twins);
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, RescaledUnits, testing::Values("bert", "electra", "gated"),
                         [](const auto& info) { return info.param; });

// If one of two identical units is pruned, rescaling the other by 2 keeps the output exact.
TEST_P(RescaledUnits, ReproduceRemovedDuplicates) {
  write_twins();
  const SourceFolder source = open_source_folder(dir_.file("twins"));
  CompressedFolder cut{.config = source.config, .tensors = source.tensors, .step = {}};
  const std::vector<PruneGroup> groups = groups_of(source, cut);
  std::vector<std::vector<std::int64_t>> kept;
  for (const PruneGroup& group : groups) {
    auto& stays = kept.emplace_back();
    for (std::int64_t unit = 0; unit < group.units; unit += 2) stays.push_back(unit);
  }
  const std::vector<MaskScales> scales = PruneRows(source, rows()).scales(groups, kept);
  auto next = scales.begin();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    keep_units(cut, groups[i], kept[i]);
    for (const PruneTarget& product : groups[i].products) {
      ASSERT_TRUE(next->taken) << product.what;
      EXPECT_GT(next->lost_before, 1e-2) << product.what;
      EXPECT_LT(next->lost, 1e-6) << product.what;
      for (std::size_t k = 0; k < kept[i].size(); ++k)
        EXPECT_NEAR(next->factors[k], kept[i][k] + 1 < groups[i].units ? 2 : 1, 1e-2)
            << product.what << " " << k;
      scale_units(cut, groups[i], product, next++->factors);
    }
  }
  cut.config[is_t5() ? "d_ff" : "intermediate_size"] = kept.front().size();
  if (is_t5()) cut.config["num_heads"] = kept.back().size();
  for (std::int64_t layer = 0; !is_t5() && layer < layer_stacks(source)[0].layers; ++layer)
    checkpoint::keep_heads(cut.config, layer, kept.back());
  write_compressed_folder(dir_.file("cut"), source, cut);
  if (is_t5()) {
    expect_same_answers(answers_of_folder(dir_.file("cut")), answers_of_folder(dir_.file("twins")),
                        1e-4);
    return;
  }
  const GoldenClassify golden(GetParam());
  const auto is = scores_of_folder(golden, dir_.file("cut")),
             was = scores_of_folder(golden, dir_.file("twins"));
  for (std::size_t i = 0; i < is.size(); ++i)
    EXPECT_LT(smelt::largest_difference(is[i], was[i]), 1e-4) << i;
}

TEST_P(RescaledUnits, MatchNumpyLeastSquares) {
  if (is_t5()) GTEST_SKIP() << "the script knows no T5";
  REQUIRE_ORACLE();
  prune_model(
      {.from = dir_.file("hf"), .to = dir_.file("cut"), .ffn = 0.5, .heads = 0.5, .data = rows()});
  const auto result =
      run_oracle(str(source_path("tools/check_rescale.py"), " ", dir_.file("hf"), " ",
                     dir_.file("cut"), " --rows ", dir_.file("rows.tsv"), " --length 10"));
  EXPECT_EQ(result.status, 0) << result.text;
}

// Computed by hand for A [2,3] with units that are not orthogonal, and y [3].
TEST(LeastSquares, SolvesTheNormalEquations) {
  const std::vector<double> gram{2, 1, 1, 2}, onto{3, 4};
  const auto s = least_squares(gram, onto);
  ASSERT_TRUE(s);
  EXPECT_NEAR((*s)[0], 2.0 / 3, 1e-4);
  EXPECT_NEAR((*s)[1], 5.0 / 3, 1e-4);
}

TEST(LeastSquares, UndeterminedFactorsAreNearOne) {
  const std::vector<double> same{1, 1, 0, 1, 1, 0, 0, 0, 0};
  const auto s = least_squares(same, std::vector<double>{3, 3, 0});
  ASSERT_TRUE(s);
  EXPECT_NEAR((*s)[0], 1.5, 1e-4);
  EXPECT_NEAR((*s)[1], 1.5, 1e-4);
  EXPECT_EQ((*s)[2], 1);
}

TEST(LeastSquares, RejectsFactorsAboveTen) {
  EXPECT_FALSE(least_squares(std::vector<double>{1}, std::vector<double>{11}));
  EXPECT_TRUE(least_squares(std::vector<double>{1}, std::vector<double>{9}));
}

}  // namespace
}  // namespace smelt::compress
