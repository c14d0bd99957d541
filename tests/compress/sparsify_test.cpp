// Models whose smallest weights are set to 0: the choice, the folders, and the programs that read
// them.
#include "compress/sparsify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/json.h"
#include "checkpoint/interop/stored_model.h"
#include "compress/folder_scores.h"
#include "compress/prune.h"
#include "compress/quantize.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/bitmask_rows.h"
#include "model/optim/pruning.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<std::vector<float>>;

// Returns few different magnitudes, so that many weights are equal and some are 0.
Values some_matrices() {
  std::mt19937 bits(3);
  Values out(3);
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t n = 0; n < 40 + 7 * i; ++n)
      out[i].push_back((bits() % 2 == 0 ? -0.25F : 0.25F) * static_cast<float>(bits() % 9));
  return out;
}

// A simple reference: sorts all weights in one list.
Values largest_by_sorting(Values matrices, std::size_t kept) {
  std::vector<float*> all;
  for (auto& matrix : matrices)
    for (float& x : matrix) all.push_back(&x);
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const float* x) { return std::fabs(*x); });
  for (std::size_t i = kept; i < all.size(); ++i) *all[i] = 0;
  return matrices;
}

TEST(Magnitude, KeepsTheLargestOfAllMatricesTogether) {
  const Values matrices = some_matrices();
  for (const std::size_t kept : {1, 2, 7, 50, 100, 130, 141}) {
    const MagnitudeThreshold cut = magnitude_cut(
        [&](const auto& take) {
          for (const auto& matrix : matrices) take(matrix);
        },
        kept);
    Values left = matrices;
    std::vector<std::uint64_t> not_zero;
    for (std::size_t i = 0; i < left.size(); ++i) {
      keep_largest(left[i], cut.least, cut.of_equal[i]);
      not_zero.push_back(left[i].size() -
                         static_cast<std::size_t>(std::ranges::count(left[i], 0.0F)));
    }
    EXPECT_EQ(left, largest_by_sorting(matrices, kept)) << kept;
    EXPECT_EQ(cut.not_zero, not_zero) << kept;
  }
}

TEST(Magnitude, KeepsTheSameNumberAsTensorFlow) {
  EXPECT_EQ(model::kept_of(1000, 0.9), 100U);
  EXPECT_EQ(model::kept_of(10, 0.75), 2U);  // 2.5 rounds to even
  EXPECT_EQ(model::kept_of(14, 0.75), 4U);  // 3.5 rounds to even
  EXPECT_EQ(model::kept_of(10, 0.999), 1U);
}

TEST(Magnitude, PatternKeepsTheFirstOfEqualWeights) {
  std::vector<float> values{1, -3, 2, 0, 5, 5, -5, 5, 0, 0, 0, 1};
  keep_n_of_m(values, {.kept = 2, .of = 4});
  EXPECT_THAT(values, ElementsAre(0, -3, 2, 0, 5, 5, 0, 0, 0, 0, 0, 1));
}

TEST(BitmaskRows, RoundTripInBothLayouts) {
  std::vector<float> values(3 * 11);
  for (std::size_t i = 0; i < values.size(); i += 1 + i % 3) values[i] = static_cast<float>(i) - 9;
  const io::BitmaskRows rows = io::bitmask_rows(values, 3);
  EXPECT_EQ(rows.bits.size(), 3 * 2U);
  std::vector<float> back(values.size(), 7), turned(values.size(), 7);
  io::put_bitmask_values(rows.values, rows.bits, 3, back);
  io::put_bitmask_values(rows.values, rows.bits, 3, turned, io::Laid::transposed);
  EXPECT_EQ(back, values);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 11; ++c) EXPECT_EQ(turned[c * 3 + r], values[r * 11 + c]);
}

class SparseFolder : public testing::TestWithParam<const char*> {
 protected:
  bool is_t5() const { return std::string_view(GetParam()) == "gated"; }
  void SetUp() override { write_golden_folder(GetParam(), is_t5(), dir_); }
  SparsifyJob job() const { return {.from = dir_.file("hf"), .to = dir_.file("sparse")}; }
  // Returns the size of the weights without the safetensors header.
  std::size_t data_bytes(const std::string& folder) const {
    const io::SafetensorsFile file(io::read_file(dir_.file(folder + "/model.safetensors")), folder);
    std::size_t out = 0;
    for (const auto& [name, view] : file.tensors()) out += view.data.size();
    return out;
  }
  void check_by_numpy(const std::string& arguments) const {
    const auto result =
        run_oracle(str(source_path("tools/check_sparse_folder.py"), " ", dir_.file("sparse"),
                       " --source ", dir_.file("hf"), " ", arguments));
    EXPECT_EQ(result.status, 0) << result.text;
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, SparseFolder, testing::Values("bert", "electra", "gated"),
                         [](const auto& info) { return info.param; });

TEST_P(SparseFolder, KeepsExactlyTheLargestWeights) {
  REQUIRE_ORACLE();
  REQUIRE_PLUGIN("cpu");
  SparsifyJob share = job();
  share.sparsity = 0.8;
  const Sparsified done = sparsify_model(share);
  EXPECT_EQ(done.not_zero, model::kept_of(done.weights, 0.8));
  EXPECT_LT(data_bytes("sparse"), data_bytes("hf"));
  check_by_numpy(str("--sparsity 0.8 --plain ", dir_.file("plain")));
  const checkpoint::StoredModel is = checkpoint::open_stored_model(dir_.file("sparse"), "test"),
                                plain = checkpoint::open_stored_model(dir_.file("plain"), "test");
  EXPECT_TRUE(is.skipped.empty());
  ASSERT_EQ(is.tensors.size(), plain.tensors.size());
  for (const auto& [name, tensor] : plain.tensors)
    EXPECT_EQ(is.tensors.at(name).read(), tensor.read()) << name;
  if (is_t5()) {
    EXPECT_EQ(answers_of_folder(dir_.file("sparse")), answers_of_folder(dir_.file("plain")));
  } else {
    const GoldenClassify golden(GetParam());
    expect_transformers_scores(golden, dir_.file("plain"),
                               scores_of_folder(golden, dir_.file("sparse")));
  }
  const Json step = Json::parse(io::read_file(dir_.file("sparse/compress.json")))["steps"][0];
  EXPECT_EQ(step["method"], "sparse");
  EXPECT_EQ(step["sparsity"], 0.8);
  EXPECT_EQ(step["weights"], done.weights);
  EXPECT_FALSE(step.contains("tuned"));
}

TEST_P(SparseFolder, KeepsTheLargestOfEachGroup) {
  REQUIRE_ORACLE();
  SparsifyJob pattern = job();
  const std::string nm = is_t5() ? "1:2" : "2:4";
  pattern.nm = model::parse_nm(nm, "test");
  const Sparsified done = sparsify_model(pattern);
  EXPECT_EQ(done.not_zero, done.weights / 2);
  check_by_numpy("--nm " + nm);
  const Json step = Json::parse(io::read_file(dir_.file("sparse/compress.json")))["steps"][0];
  EXPECT_EQ(step["nm"], nm);
}

class Sparsify : public testing::Test {
 protected:
  void SetUp() override { GoldenClassify("bert").write_folder(dir_.file("hf")); }
  // Returns the error message of the command with these flags.
  std::string refusal(const std::string& flags, const std::string& from = "hf") const {
    const CommandOutput said =
        run_smelt(str("compress prune ", dir_.file(from), " --out ", dir_.file("out"), " ", flags));
    EXPECT_EQ(said.status, 2) << said.text;
    return said.text;
  }
  TempDir dir_;
};

TEST_F(Sparsify, RejectsInvalidOptions) {
  EXPECT_THAT(refusal("--sparsity 1.5"), HasSubstr("compress: --sparsity 1.5: must be above 0 and "
                                                   "below 1\n  hint: give the share of weights"));
  EXPECT_THAT(refusal("--sparsity 0"), HasSubstr("--sparsity 0: must be above 0"));
  EXPECT_THAT(refusal("--nm 3:2"), HasSubstr("compress: --nm 3:2: must keep fewer than 2 of 2 "
                                             "weights\n  hint: use a pattern"));
  EXPECT_THAT(refusal("--nm 24"), HasSubstr("compress: --nm '24' is not a pattern n:m of two "
                                            "positive numbers\n  hint: write kept:group"));
  EXPECT_THAT(refusal("--nm 2:4 --sparsity 0.5"),
              HasSubstr("--sparsity and --nm cannot be combined"));
  EXPECT_THAT(refusal("--method magnitude"),
              HasSubstr("--method magnitude needs --sparsity or --nm\n  hint: give --sparsity"));
  EXPECT_THAT(refusal("--method magnitud --sparsity 0.5"),
              HasSubstr("--method magnitud: unknown method\n  hint: did you mean "
                        "'magnitude'?"));
  EXPECT_THAT(refusal("--method fisher --nm 2:4"),
              HasSubstr("--nm with --method fisher, which removes neurons and heads"));
  EXPECT_THAT(refusal("--layers 1 --sparsity 0.5"),
              HasSubstr("--layers removes parts of a model and cannot be combined with "
                        "--sparsity\n  hint: prune "));
  EXPECT_THAT(refusal("--sparsity 0.5 --examples 9"),
              HasSubstr("--examples with --sparsity, which uses no rows\n  hint: remove "));
  EXPECT_THAT(refusal("--method movement --sparsity 0.5"),
              HasSubstr("--method movement without --tune: the method needs training\n"));
  EXPECT_THAT(refusal("--method soft --sparsity 0.5 --tune taught"),
              HasSubstr("--method soft with --sparsity: the sparsity follows from --p"));
  EXPECT_THAT(refusal("--sparsity 0.5 --tune " + dir_.file("out")),
              HasSubstr("out: one folder is inside the other\n  hint: choose separate"));
  EXPECT_THAT(refusal("--sparsity 0.5 --penalty 2"),
              HasSubstr("--penalty: requires --method soft"));
  EXPECT_THAT(refusal("--method movement --nm 2:4 --tune taught"),
              HasSubstr("--method movement with --nm: N:M sparsity is by magnitude"));
  EXPECT_THAT(refusal("--sparsity 1 --tune taught"),
              HasSubstr("--sparsity 1: must be above 0 and below 1"));
  EXPECT_THAT(refusal("--sparsity 0.5 --tune taught"), HasSubstr("hf has no stored recipe"));
  EXPECT_FALSE(io::exists(dir_.file("out")));
  GoldenT5("gated").write_folder(dir_.file("t5"));
  EXPECT_THAT(refusal("--nm 2:4", "t5"),
              HasSubstr("SelfAttention.o.weight' is f32[16,18], cannot divide its 18 inputs into "
                        "groups of 4 (--nm 2:4)\n"));
}

TEST_F(Sparsify, ReportsThatItIsSmallerButNotFaster) {
  const CommandOutput said = run_smelt(str("compress prune ", dir_.file("hf"), " --out ",
                                           dir_.file("sparse"), " --method magnitude --nm 2:4"));
  EXPECT_EQ(said.status, 0) << said.text;
  EXPECT_THAT(said.text, AllOf(HasSubstr("weights of 12 matrices are 0 (50.0 %), 35.9 % of all "),
                               HasSubstr("a smaller file, NOT a faster model")));
  const std::string already =
      "sparse: its weights are already sparse\n  hint: use the original model";
  EXPECT_THAT(refusal("--nm 2:4", "sparse"), HasSubstr(already));
  EXPECT_THAT(refusal("--layers 1", "sparse"), HasSubstr(already));
  EXPECT_THAT(error_of<UsageError>([&] {
                quantize_weights({.from = dir_.file("sparse"), .to = dir_.file("int8")});
              }),
              HasSubstr(already));
}

TEST_F(Sparsify, TuneTrainsWithPrunedWeightsBeforeExport) {
  REQUIRE_PLUGIN("cpu");
  std::string rows = "label\ttext\n";
  for (int i = 0; i < 20; ++i)
    rows += str(i % 2 == 0 ? "cats\tcat" : "dogs\tdog", " w", 8 + i % 7, "\n");
  io::write_file(dir_.file("train.tsv"), rows);
  io::write_file(
      dir_.file("r.yaml"),
      str("out: ", dir_.file("large"), "\ndata: {train: ", dir_.file("train.tsv"),
          ", seq_length: 8, validation_share: 0.3}\nmodel: {type: classify}\ntrain: {init_from: ",
          dir_.file("hf"),
          ", batch_size: 4, steps: 2, checkpoint.best_metric: accuracy, early_stopping.patience: "
          "5}\n"
          "eval: {batch_size: 4, every: 1, best: true}\n"));  // pruning ignores these
  const auto smelt = [](const std::string& words) {
    const CommandOutput said = run_smelt(words);
    EXPECT_EQ(said.status, 0) << said.text;
    return said.text;
  };
  smelt("run " + dir_.file("r.yaml"));
  smelt(str("compress prune ", dir_.file("large"), " --out ", dir_.file("sparse"),
            " --sparsity 0.6 --tune ", dir_.file("taught"), " --set train.steps=10"));
  // The zeros are those of the trained weights; no further weight became 0.
  const auto expect_same_tensors = [&](const std::string& run, const std::string& folder) {
    const checkpoint::StoredModel taught = checkpoint::open_stored_model(
                                      dir_.file(run + "/huggingface"), "test"),
                                  sparse = checkpoint::open_stored_model(dir_.file(folder), "test");
    for (const auto& [name, tensor] : taught.tensors)
      EXPECT_EQ(sparse.tensors.at(name).read(), tensor.read()) << name;
  };
  const auto expect_learned = [&](const std::string& run, const std::string& folder, const char* by,
                                  double zeros) {
    expect_same_tensors(run, folder);
    const Json step = Json::parse(io::read_file(dir_.file(folder + "/compress.json")))["steps"][0];
    EXPECT_EQ(step["not_zero"], model::kept_of(step["weights"], zeros));
    EXPECT_EQ(step["tuned"], true);
    EXPECT_EQ(step["by"], by);
  };
  expect_learned("taught", "sparse", "magnitude", 0.6);
  smelt(str("compress prune ", dir_.file("large"), " --out ", dir_.file("moved"),
            " --method movement --sparsity 0.8 --tune ", dir_.file("taught_moved"),
            " --set train.steps=10"));
  expect_learned("taught_moved", "moved", "movement", 0.8);
  smelt(str("compress prune ", dir_.file("large"), " --out ", dir_.file("soft"),
            " --method soft --penalty 0.001 --tune ", dir_.file("taught_soft"),
            " --set train.steps=10 --set train.pruning.score_learning_rate=1"));
  const Json soft = Json::parse(io::read_file(dir_.file("soft/compress.json")))["steps"][0];
  EXPECT_EQ(soft["by"], "soft");
  EXPECT_GT(soft["not_zero"], soft["weights"].get<int>() / 20);
  EXPECT_LT(soft["not_zero"], soft["weights"].get<int>() / 20 * 19);
  expect_same_tensors("taught_soft", "soft");
  smelt(str("compress prune ", dir_.file("large"), " --out ", dir_.file("patterned"),
            " --nm 2:4 --tune ", dir_.file("taught_patterned"), " --set train.steps=3"));
  expect_learned("taught_patterned", "patterned", "magnitude", 0.5);
  const CommandOutput other = run_smelt(
      str("run ", dir_.file("taught"), " --set train.pruning.sparsity=0.2 --set train.steps=12"));
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.text, HasSubstr("sparsity 0.6, this run has 0.2"));
  const CommandOutput by =
      run_smelt(str("run ", dir_.file("taught_moved"),
                    " --set train.pruning.method=magnitude --set train.steps=12"));
  EXPECT_EQ(by.status, 2);
  EXPECT_THAT(by.text, HasSubstr("prune_by \"movement\", this run has \"magnitude\""));
  const auto refusal = [&](const char* settings) {
    const CommandOutput said =
        run_smelt(str("run ", dir_.file("large"), " --set out=", dir_.file("no"),
                      " --set train.pruning.sparsity=0.5 ", settings));
    EXPECT_EQ(said.status, 2);
    return said.text;
  };
  EXPECT_THAT(refusal("--set train.ema_decay=0.9"),
              HasSubstr("train.pruning.sparsity cannot be used with train.ema_decay or eval.best"));
  EXPECT_THAT(refusal("--set train.pruning.nm=2:4"),
              HasSubstr("train.pruning.sparsity and train.pruning.nm are both set, but a pattern"));
  EXPECT_THAT(refusal("--set train.pruning.method=soft"),
              HasSubstr("train.pruning.method soft cannot be used with train.pruning.sparsity or "
                        "train.pruning.nm"));
  EXPECT_THAT(refusal("--set train.pruning.method=luck"),
              HasSubstr("train.pruning.method is 'luck'"));
  EXPECT_THAT(refusal("--set train.pruning.sparsity=0 --set train.pruning.nm=4:2"),
              HasSubstr("train.pruning.nm 4:2: must keep fewer than 2 of 2 weights"));
  EXPECT_THAT(refusal("--set train.pruning.sparsity=0 --set train.pruning.method=movement"),
              HasSubstr("train.pruning.method is movement, but train.pruning.sparsity is not set"));
  EXPECT_THAT(refusal("--set eval.best=false --set train.early_stopping.patience=2"),
              HasSubstr("train.pruning.sparsity cannot be used with train.early_stopping.patience: "
                        "metrics get worse"));
}

// Without quant_method transformers rejects the folder; with it, some versions leave matrices at
// random values. compressed-tensors itself wrote its name there, so such folders must be readable.
TEST_F(Sparsify, OmitsQuantMethodAndReadsFoldersWithIt) {
  sparsify_model({.from = dir_.file("hf"), .to = dir_.file("sparse"), .sparsity = 0.5});
  Json config = Json::parse(io::read_file(dir_.file("sparse/config.json")));
  EXPECT_FALSE(config["quantization_config"].contains("quant_method"));
  const auto kernel = [&] {
    return checkpoint::open_stored_model(dir_.file("sparse"), "test")
        .tensors.at("bert/encoder/layer_0/output/dense/kernel")
        .read();
  };
  const auto own = kernel();
  config["quantization_config"]["quant_method"] = "compressed-tensors";
  io::write_file(dir_.file("sparse/config.json"), config.dump());
  EXPECT_EQ(kernel(), own);
}

// Other programs may write such tensors.
TEST_F(Sparsify, RejectsInconsistentBitmasks) {
  sparsify_model({.from = dir_.file("hf"), .to = dir_.file("sparse"), .sparsity = 0.5});
  std::filesystem::remove(dir_.file("sparse/compress.json"));
  const std::string path = dir_.file("sparse/model.safetensors"),
                    module = "bert.encoder.layer.0.output.dense";
  const io::SafetensorsFile whole(io::read_file(path), "sparse");
  const auto refusal_of = [&](const auto& change) {
    io::TensorMap tensors = whole.tensors();
    change(tensors);
    io::write_file(path, io::safetensors_bytes(tensors, whole.metadata()));
    return error_of<UsageError>([&] {
      const checkpoint::StoredModel model =
          checkpoint::open_stored_model(dir_.file("sparse"), "test");
      model.tensors.at("bert/encoder/layer_0/output/dense/kernel").read();
    });
  };
  EXPECT_THAT(refusal_of([&](io::TensorMap& t) { t.erase(module + ".compressed"); }),
              HasSubstr("'" + module + ".bitmask' exists without '" + module + ".compressed'"));
  EXPECT_THAT(refusal_of([&](io::TensorMap& t) {
                t[module + ".bitmask"] = t["bert.encoder.layer.0.output.dense.row_offsets"];
              }),
              HasSubstr(".bitmask' is i64[16] and its values f32["));
  const std::string other = "bert.encoder.layer.0.intermediate.dense";
  EXPECT_THAT(
      refusal_of([&](io::TensorMap& t) { t[module + ".compressed"] = t[other + ".compressed"]; }),
      AllOf(HasSubstr(module + ".bitmask' marks "), HasSubstr("values, but 'compressed' has")));
  Json config = Json::parse(io::read_file(dir_.file("sparse/config.json")));
  config["quantization_config"]["sparsity_config"]["format"] = "sparse-24-bitmask";
  io::write_file(dir_.file("sparse/config.json"), config.dump());
  EXPECT_THAT(
      refusal_of([](io::TensorMap&) {}),
      HasSubstr("sparsity_config's format is \"sparse-24-bitmask\", expected \"sparse-bitmask\""));
}

}  // namespace
}  // namespace smelt::compress
