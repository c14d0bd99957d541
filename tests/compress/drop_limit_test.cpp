// int8 weights with a limit on the loss of a score.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "base/json.h"
#include "compress/quantize.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/safetensors.h"
#include "runs/golden_classify.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(SmallestPassing, FindsTheThresholdWithFewEvaluations) {
  for (std::size_t most = 0; most <= 40; ++most)
    for (std::size_t threshold = 0; threshold <= most + 1; ++threshold) {
      std::set<std::size_t> asked;
      const auto found = smallest_passing(most, [&](std::size_t count) {
        EXPECT_LE(count, most);
        EXPECT_TRUE(asked.insert(count).second) << count << " is asked twice";
        return count >= threshold;
      });
      EXPECT_EQ(found, threshold <= most ? std::optional(threshold) : std::nullopt);
      EXPECT_LE(asked.size(), 14);
    }
}

class DropLimitTest : public testing::Test {
 protected:
  static constexpr const char* kOutlier = "bert.encoder.layer.1.attention.self.key.weight";

  void SetUp() override {
    GoldenClassify("bert").write_folder(dir_.file("hf"));
    const io::SafetensorsFile file(io::read_file(dir_.file("hf/model.safetensors")), "hf");
    io::TensorMap tensors = file.tensors();
    const auto bytes = tensors.at(kOutlier).data;
    outlier_.assign(bytes.begin(), bytes.end());
    for (std::size_t at = 0; at < outlier_.size(); at += 16 * sizeof(float)) {
      const float huge = 300;  // one per row, so large that the others are quantized to 0
      std::memcpy(&outlier_[at], &huge, sizeof huge);
    }
    tensors.at(kOutlier).data = outlier_;
    io::write_file(dir_.file("hf/model.safetensors"),
                   io::safetensors_bytes(tensors, file.metadata()));
  }
  // The score drops a little for each quantized matrix, and much for the one with the outliers.
  static FolderScore score(const std::string& folder) {
    double lost = 0;
    const io::SafetensorsFile file(io::read_file(folder + "/model.safetensors"), folder);
    for (const auto& [name, view] : file.tensors())
      if (name.ends_with("_scale")) lost += name.starts_with(kOutlier) ? 0.5 : 0.001;
    return {1 - lost, 2 - lost};
  }
  Quantized quantize(double most, bool forced = false) const {
    return quantize_weights({.from = dir_.file("hf"),
                             .to = dir_.file("int8"),
                             .limit = DropLimit{.score = score, .most = most, .forced = forced}});
  }
  std::vector<std::byte> outlier_;
  TempDir dir_;
};

TEST_F(DropLimitTest, LeavesAnOutlierInFloatingPointFirst) {
  const Quantized done = quantize(0.1);
  EXPECT_THAT(done.went_back, ElementsAre(kOutlier));
  EXPECT_EQ(done.tensors.size(), 11);
  EXPECT_EQ(done.before.choice, 1);
  EXPECT_DOUBLE_EQ(done.after.choice, 1 - 0.011);
  EXPECT_DOUBLE_EQ(done.after.unbiased, 2 - 0.011);
  const io::SafetensorsFile file(io::read_file(dir_.file("int8/model.safetensors")), "int8");
  EXPECT_EQ(file.at(kOutlier).shape.dtype, compiler::DType::f32);
  const Json step = Json::parse(io::read_file(dir_.file("int8/compress.json")))["steps"][0];
  EXPECT_EQ(step["went_back"], Json::array({kOutlier}));
  EXPECT_EQ(step["chosen_by"]["max_drop"], 0.1);
  EXPECT_THAT(step["kept"].dump(), HasSubstr("layer.1.attention.self.key"));
  const Json config = Json::parse(io::read_file(dir_.file("int8/config.json")));
  EXPECT_THAT(config["quantization_config"]["ignore"].dump(),
              HasSubstr("layer.1.attention.self.key"));
}

TEST_F(DropLimitTest, QuantizesEverythingIfTheScoreStaysWithinTheLimit) {
  EXPECT_TRUE(quantize(0.6).went_back.empty());
}

TEST_F(DropLimitTest, WritesAFolderBeyondTheLimitOnlyWithForce) {
  EXPECT_THAT(error_of<UsageError>([&] { quantize(0.0005); }),
              HasSubstr("the score drops by more than 0.0005 (--max-drop): with 11 of 12 "
                        "matrices in floating point the score is 0.999, before quantization it was "
                        "1\n  hint: allow a larger drop, or write the folder anyway with --force"));
  EXPECT_THAT(io::list_folder(dir_.path()), ElementsAre("hf"));
  const QuantizeJob of_recipe{.from = dir_.file("hf"),
                              .to = dir_.file("int8"),
                              .limit = DropLimit{.score = score,
                                                 .most = 0.0005,
                                                 .what = "compress.max_drop",
                                                 .hint = "raise compress.max_drop"}};
  EXPECT_THAT(error_of<UsageError>([&] { quantize_weights(of_recipe); }),
              AllOf(HasSubstr("drops by more than 0.0005 (compress.max_drop): with"),
                    testing::EndsWith("hint: raise compress.max_drop")));
  const Quantized forced = quantize(0.0005, true);
  EXPECT_EQ(forced.tensors.size(), 12);
  EXPECT_TRUE(forced.went_back.empty());
}

TEST_F(DropLimitTest, ChecksTheOutputFolderBeforeScoring) {
  io::write_file(dir_.file("int8/notes"), "mine");
  const QuantizeJob job{.from = dir_.file("hf"),
                        .to = dir_.file("int8"),
                        .limit = DropLimit{.score = [](const std::string&) -> FolderScore {
                          throw std::logic_error("scored");
                        }}};
  EXPECT_THAT(error_of<UsageError>([&] { quantize_weights(job); }),
              HasSubstr("exists and is not empty"));
  EXPECT_EQ(io::read_file(dir_.file("int8/notes")), "mine");
}

TEST_F(DropLimitTest, CommandReportsTheScoreOfEachHalfOfTheRows) {
  REQUIRE_PLUGIN("cpu");
  io::write_file(dir_.file("rows.tsv"), "text\tlabel\ncat\ta\nbird\tb\nw9\tc\ndog\ta\n");
  const std::string command = str("compress quantize ", dir_.file("hf"), " --out ",
                                  dir_.file("int8"), " --max-drop 100 --input ");
  const CommandOutput out =
      run_smelt(command + dir_.file("rows.tsv") + " --json 2>/dev/null | cat");
  const Json said = Json::parse(out.text);
  for (const char* field : {"score", "score_of_other_rows"}) {
    const double before = said[field]["before"];
    EXPECT_EQ(before, std::round(2 * before) / 2) << field;  // each half has two rows
  }
  io::write_file(dir_.file("one.tsv"), "text\tlabel\ncat\ta\n");
  expect_refusal(str("compress quantize ", dir_.file("hf"), " --out ", dir_.file("other"),
                     " --max-drop 1 --input ", dir_.file("one.tsv")),
                 HasSubstr("one.tsv has only one row, expected at least two: one half selects"));
  expect_refusal(
      str("compress quantize ", dir_.file("hf"), " --out ", dir_.file("other"), " --max-drop 1"),
      HasSubstr("--max-drop needs labelled rows to score"));
  expect_refusal(str("compress quantize ", dir_.file("hf"), " --out ", dir_.file("other"),
                     " --input ", dir_.file("one.tsv")),
                 HasSubstr("compress: --input without --max-drop"));
  expect_refusal(str("compress quantize ", dir_.file("hf"), " --out ", dir_.file("other"),
                     " --calibrate ", dir_.file("one.tsv")),
                 HasSubstr("compress: --calibrate has no effect with --weights int8 and "
                           "--activations other than static"));
}

}  // namespace
}  // namespace smelt::compress
