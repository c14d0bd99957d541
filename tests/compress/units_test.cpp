// Pruned neurons and heads: the result equals the original model with those units set to 0.
#include "compress/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "checkpoint/interop/cut_heads.h"
#include "compress/folder_scores.h"
#include "compress/prune.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "support/error_of.h"
#include "support/largest_difference.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns the matrix with the columns of these units set to zero.
io::LazyTensor without(const io::LazyTensor& matrix, std::int64_t width,
                       const std::vector<std::int64_t>& units) {
  return {matrix.shape, [=] {
            std::vector<std::byte> bytes = matrix.read();
            const std::int64_t columns = matrix.shape.dims[1];
            for (std::int64_t r = 0; r < matrix.shape.dims[0]; ++r)
              for (const std::int64_t unit : units)
                std::memset(&bytes[static_cast<std::size_t>(4 * (r * columns + unit * width))], 0,
                            static_cast<std::size_t>(4 * width));
            return bytes;
          }};
}

class UnitPruning : public testing::TestWithParam<const char*> {
 protected:
  UnitPruning() {
    if (is_t5())
      GoldenT5(GetParam()).write_folder(dir_.file("hf"));
    else
      GoldenClassify(GetParam()).write_folder(dir_.file("hf"));
  }
  static bool is_t5() {
    return std::string_view(GetParam()) == "small" || std::string_view(GetParam()) == "gated";
  }
  // Writes the folder with these units zeroed (`masked`) and with these units removed (`cut`).
  void write_both(const std::vector<std::int64_t>& neurons,
                  const std::vector<std::int64_t>& heads) const {
    const SourceFolder source = open_source_folder(dir_.file("hf"));
    CompressedFolder masked{.config = source.config, .tensors = source.tensors, .step = {}};
    CompressedFolder cut = masked;
    const auto leave_out = [&](const std::vector<PruneGroup>& groups,
                               const std::vector<std::int64_t>& units) {
      std::vector<std::int64_t> kept;
      for (std::int64_t i = 0; i < groups.front().units; ++i)
        if (std::ranges::find(units, i) == units.end()) kept.push_back(i);
      for (const PruneGroup& group : groups) {
        for (const PruneTarget& product : group.products)
          masked.tensors[product.output] =
              without(masked.tensors[product.output], group.width, units);
        keep_units(cut, group, kept);
      }
      return kept;
    };
    const auto stacks = layer_stacks(source);
    cut.config[is_t5() ? "d_ff" : "intermediate_size"] =
        leave_out(ffn_groups(cut, stacks), neurons).size();
    const auto kept = leave_out(head_groups(cut, stacks), heads);
    if (is_t5()) cut.config["num_heads"] = kept.size();
    for (std::int64_t layer = 0; !is_t5() && layer < stacks[0].layers; ++layer)
      checkpoint::keep_heads(cut.config, layer, kept);
    write_compressed_folder(dir_.file("masked"), source, masked);
    write_compressed_folder(dir_.file("cut"), source, cut);
  }
  std::vector<float> transformers_logits(const std::string& folder) const {
    const io::SafetensorsFile golden(io::read_file(source_path("tests/golden/t5_tiny.safetensors")),
                                     "t5");
    io::TensorMap inputs;
    for (const char* name : {"inputs", "targets"})
      inputs[name] = golden.at(str(GetParam(), "/", name));
    io::write_file(dir_.file("in"), io::safetensors_bytes(inputs));
    const auto result =
        run_oracle(str(source_path("tools/check_hf_folder.py"), " ", dir_.file(folder),
                       " --inputs ", dir_.file("in"), " --outputs ", dir_.file("out")));
    EXPECT_EQ(result.status, 0) << result.text;
    return io::tensor_values<float>(
        io::SafetensorsFile(io::read_file(dir_.file("out")), "out").at("logits"));
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, UnitPruning, testing::Values("bert", "electra", "small", "gated"),
                         [](const auto& info) { return info.param; });

TEST_P(UnitPruning, RemovingZeroedUnitsDoesNotChangeOutputs) {
  REQUIRE_ORACLE();
  REQUIRE_PLUGIN("cpu");
  write_both({0, 3, 4, 11, 23}, {1});
  if (is_t5()) {
    const auto cut = transformers_logits("cut");
    EXPECT_LT(smelt::largest_difference(cut, transformers_logits("masked")), 1e-5);
    EXPECT_GT(smelt::largest_difference(cut, transformers_logits("hf")), 1e-3);
    expect_same_answers(answers_of_folder(dir_.file("cut")), answers_of_folder(dir_.file("masked")),
                        1e-5);
    return;
  }
  const GoldenClassify golden(GetParam());
  const auto cut = scores_of_folder(golden, dir_.file("cut")),
             masked = scores_of_folder(golden, dir_.file("masked"));
  for (std::size_t i = 0; i < cut.size(); ++i)
    EXPECT_LT(smelt::largest_difference(cut[i], masked[i]), 1e-5) << i;
  EXPECT_NE(cut, scores_of_folder(golden, dir_.file("hf")));
  expect_transformers_scores(golden, dir_.file("cut"), cut);
}

// Some units are made to have no effect on the loss; these are pruned first.
TEST_P(UnitPruning, RemovesTheLeastImportantUnits) {
  REQUIRE_PLUGIN("cpu");
  write_both({0, 2, 3, 5, 8, 11, 22, 23}, {1});
  std::string rows = "text\tlabel\n";
  for (int i = 0; i < 20; ++i)
    rows += is_t5()
                ? str("a bad ", i % 2 == 0 ? "cab" : "ebb", "\t", i % 3 == 0 ? "bed" : "dab", "\n")
                : str("w", 8 + i, " cat ", i % 2 == 0 ? "dog" : "bird", "\t",
                      std::string("abc")[i % 3], "\n");
  io::write_file(dir_.file("rows.tsv"), rows);
  PruneJob job{.from = dir_.file("masked"),
               .to = dir_.file("chosen"),
               .ffn = 0.67,
               .heads = 0.6,
               .rescale = false};
  job.data.rows.input = dir_.file("rows.tsv");
  job.data.seq_length = 10;
  job.data.target_length = 6;
  job.data.batch_size = 8;
  const Pruned done = prune_model(job);
  ASSERT_EQ(done.units.size(), 2);
  EXPECT_EQ(done.units[0].before, 24);
  EXPECT_EQ(done.units[0].after, 16);
  for (const Pruned::Units& units : done.units) {
    EXPECT_THAT(units.kept_importance, testing::Each(1)) << units.what;
    EXPECT_EQ(units.kept.size(), units.kept_importance.size()) << "there are few";
  }
  const auto weights = [&](const char* name) {
    return io::read_file(dir_.file(str(name, "/model.safetensors")));
  };
  // With ReLU, other units may be inactive for these rows, too.
  EXPECT_TRUE(std::string_view(GetParam()) == "small" || weights("chosen") == weights("cut"));
  const Json config = Json::parse(io::read_file(dir_.file("chosen/config.json")));
  EXPECT_EQ(config[is_t5() ? "d_ff" : "intermediate_size"], 16);
  if (is_t5())
    EXPECT_EQ(config["num_heads"], 2);
  else
    EXPECT_EQ(config["pruned_heads"], Json({{"0", {1}}, {"1", {1}}}));
  const Json step = Json::parse(io::read_file(dir_.file("chosen/compress.json")))["steps"].back();
  EXPECT_EQ(step["method"], "prune");
  EXPECT_EQ(step["chosen_by"]["input"], dir_.file("rows.tsv"));
  EXPECT_EQ(step["neurons"]["after"], 16);
  // A budget of exactly these units: trading heads for neurons would lose active heads.
  job.to = dir_.file("within");
  job.ffn = job.heads = 1;
  job.macs = 0.67;
  const Pruned within = prune_model(job);
  EXPECT_LE(within.macs.value(), job.macs);
  EXPECT_GT(within.macs.value(), 0.5);
  EXPECT_EQ(weights("within"), weights("chosen"));
  // Units of removed layers are ignored.
  job.to = dir_.file("last");
  job.layers.kept = {1};
  const Pruned last = prune_model(job);
  EXPECT_EQ(last.units[0].kept_importance.size(), is_t5() ? 4 : 1);
  const Json left = Json::parse(io::read_file(dir_.file("last/config.json")));
  if (!is_t5()) {
    EXPECT_EQ(left["pruned_heads"], Json({{"0", {1}}}));
  }
}

TEST(WidthFor, IsAMultipleOfTheTpuTileIfLargeEnough) {
  EXPECT_EQ(width_for(0.5, 3072, 128), 1536);
  EXPECT_EQ(width_for(0.3, 3072, 128), 896);
  EXPECT_EQ(width_for(0.5, 512, 128), 256);
  EXPECT_EQ(width_for(0.1, 1024, 128), 128);  // in steps of 64
  EXPECT_EQ(width_for(0.08, 1024, 128), 64);
  EXPECT_EQ(width_for(0.67, 24, 128), 16);
  EXPECT_EQ(width_for(0.67, 3, 1), 2);
  EXPECT_EQ(width_for(0.01, 3, 1), 1);
  EXPECT_EQ(width_for(0.99, 1024, 128), 1024);
}

TEST(Largest, ReturnsAscendingIndicesAndPrefersTheFirstOfEqualValues) {
  EXPECT_THAT(largest({1, 5, 3, 5, 0}, 2), ElementsAre(1, 3));
  EXPECT_THAT(largest({2, 2, 2}, 2), ElementsAre(0, 1));
  EXPECT_THAT(largest({2}, 0), ElementsAre());
}

class PruneUnits : public testing::Test {
 protected:
  void SetUp() override {
    GoldenClassify("bert").write_folder(dir_.file("hf"));
    io::write_file(dir_.file("rows.tsv"), "text\tlabel\ncat dog\ta\nbird\tz\n");
  }
  std::string refusal(PruneJob job, const char* rows = "rows.tsv") const {
    job.from = dir_.file("hf");
    job.to = dir_.file("cut");
    if (*rows != 0) job.data.rows.input = dir_.file(rows);
    return error_of<UsageError>([&] { prune_model(job); });
  }
  TempDir dir_;
};

TEST_F(PruneUnits, RejectInvalidOptionsAndRows) {
  EXPECT_THAT(refusal({.ffn = 0.5}, ""), HasSubstr("compress: --ffn and --heads need labelled rows "
                                                   "to choose units, but --input is missing"));
  EXPECT_THAT(refusal({}), HasSubstr("compress: --input without --ffn, --heads or --macs"));
  EXPECT_THAT(
      refusal({.macs = 0.5}, ""),
      HasSubstr("compress: --macs needs labelled rows to choose units, but --input is missing"));
  EXPECT_THAT(refusal({.heads = 0.5, .macs = 0.5}),
              HasSubstr("--macs cannot be combined with --ffn or --heads"));
  EXPECT_THAT(refusal({.ffn = 0}), HasSubstr("compress: --ffn 0: must be above 0 and at most 1"));
  EXPECT_THAT(refusal({.heads = 1.5}), HasSubstr("compress: --heads 1.5: must be above 0"));
  PruneJob job{.ffn = 0.5};
  job.data.seq_length = 64;
  EXPECT_THAT(refusal(job),
              HasSubstr("classify: sequence length 64 is longer than max_position_embeddings 12"));
  job.data.seq_length = 0;  // the model's maximum
  EXPECT_THAT(refusal(job), HasSubstr("rows.tsv:3"));
  EXPECT_THAT(refusal(job, "none.tsv"), HasSubstr("none.tsv"));
  for (const char* file : {"hf/vocab.txt", "hf/tokenizer.json"})
    std::filesystem::remove(dir_.file(file));
  EXPECT_THAT(refusal(job),
              HasSubstr("hf: no vocabulary found in the model's folder\n  hint: copy its vocab"));
  std::filesystem::remove_all(dir_.file("hf"));
  GoldenClassify("bert-spans").write_folder(dir_.file("hf"));
  EXPECT_THAT(refusal(job),
              HasSubstr("calibration data is not supported for question-answering models"));
  EXPECT_FALSE(io::exists(dir_.file("cut")));
}

}  // namespace
}  // namespace smelt::compress
