// int4 weights in groups: quantized by GPTQ and by rounding to nearest, their folders, and the
// programs that read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/json.h"
#include "checkpoint/interop/stored_model.h"
#include "compress/folder_scores.h"
#include "compress/gptq.h"
#include "compress/quantize.h"
#include "io/filesystem/file.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::HasSubstr;

// Weights [R,C] and the sums of its inputs, which are correlated in pairs; the third input is
// always 0.
struct Product {
  static constexpr std::size_t R = 40, C = 256, T = 600;
  Product() : weights(R * C), sums(C * C), rows(T * C) {
    std::mt19937 bits(7);
    std::normal_distribution<double> normal;
    for (float& w : weights) w = static_cast<float>(normal(bits));
    for (std::size_t t = 0; t < T; ++t)
      for (std::size_t c = 0; c < C; ++c)
        rows[t * C + c] = c == 2 ? 0 : normal(bits) + (c % 2 == 1 ? 3 * rows[t * C + c - 1] : 0);
    for (std::size_t t = 0; t < T; ++t)
      for (std::size_t a = 0; a < C; ++a)
        for (std::size_t b = 0; b < C; ++b)
          sums[a * C + b] += 2.0 / T * rows[t * C + a] * rows[t * C + b];
  }
  io::Int4Groups by_gptq(std::size_t group) const {
    std::vector<double> triangle = sums;
    std::vector<bool> dead(C);
    dead[2] = true;
    gptq_triangle(triangle, C, 2);
    return gptq_groups(weights, R, group, triangle, dead, 2);
  }
  // Returns the squared error that quantization causes in the outputs.
  double lost(const io::Int4Groups& codes) const {
    std::vector<float> said(R * C);
    io::put_int4_values(codes.words, codes.scales, R, said);
    double out = 0;
    for (std::size_t t = 0; t < T; ++t)
      for (std::size_t r = 0; r < R; ++r) {
        double error = 0;
        for (std::size_t c = 0; c < C; ++c)
          error += (static_cast<double>(weights[r * C + c]) - said[r * C + c]) * rows[t * C + c];
        out += error * error;
      }
    return out;
  }
  std::vector<float> weights;
  std::vector<double> sums, rows;
};

TEST(Gptq, MatchesNumpy) {
  REQUIRE_ORACLE();
  const Product p;
  const TempDir dir;
  io::TensorMap given;
  given["weights"] = {{compiler::DType::f32, {Product::R, Product::C}},
                      std::as_bytes(std::span(p.weights))};
  given["sums"] = {{compiler::DType::f64, {Product::C, Product::C}},
                   std::as_bytes(std::span(p.sums))};
  io::write_file(dir.file("in"), io::safetensors_bytes(given));
  for (const std::size_t group : {std::size_t{128}, std::size_t{32}}) {
    const auto result = run_oracle(str(source_path("tools/gptq_twin.py"), " ", dir.file("in"), " ",
                                       dir.file("out"), " --group ", group));
    ASSERT_EQ(result.status, 0) << result.text;
    const io::SafetensorsFile out(io::read_file(dir.file("out")), "out");
    const io::Int4Groups is = p.by_gptq(group);
    EXPECT_EQ(is.words, io::packed_int4(io::tensor_values<std::int8_t>(out.at("codes"))));
    EXPECT_EQ(is.scales, io::tensor_values<float>(out.at("scales")));
  }
}

TEST(Gptq, HasLessOutputErrorThanRoundingToNearest) {
  const Product p;
  EXPECT_LT(p.lost(p.by_gptq(128)), 0.8 * p.lost(io::int4_groups(p.weights, Product::R, 128)));
}

class Int4Folder : public testing::TestWithParam<const char*> {
 protected:
  bool is_t5() const { return std::string_view(GetParam()) == "gated"; }
  void SetUp() override { write_golden_folder(GetParam(), is_t5(), dir_); }
  QuantizeJob job() const {
    QuantizeJob out{.from = dir_.file("hf"), .to = dir_.file("int4"), .weights = WeightType::int4};
    out.group = 8;
    if (is_t5()) out.keep = {"*.o"};  // has 18 inputs, not a multiple of 8
    return out;
  }
  QuantizeJob constrain_batch_sharding() const {
    QuantizeJob out = job();
    out.to = dir_.file("gptq");
    out.rows.rows.input = dir_.file("rows.tsv");
    out.rows.seq_length = 10;
    out.rows.target_length = 6;
    out.rows.batch_size = 8;
    return out;
  }
  void check_by_numpy(const std::string& folder, const std::string& arguments) const {
    const auto result = run_oracle(str(source_path("tools/check_int4_folder.py"), " ",
                                       dir_.file(folder), " --group 8 ", arguments));
    EXPECT_EQ(result.status, 0) << result.text;
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, Int4Folder, testing::Values("bert", "electra", "gated"),
                         [](const auto& info) { return info.param; });

TEST_P(Int4Folder, RoundsToNearestWithoutCalibration) {
  REQUIRE_ORACLE();
  const Quantized done = quantize_weights(job());
  check_by_numpy("int4", "--source " + dir_.file("hf"));
  EXPECT_LT(done.bytes, done.bytes_before);
  EXPECT_THAT(error_of<UsageError>(
                  [&] { quantize_weights({.from = dir_.file("int4"), .to = dir_.file("again")}); }),
              HasSubstr("int4: its weights are already quantized\n  hint: use the original model"));
  const Json step = Json::parse(io::read_file(dir_.file("int4/compress.json")))["steps"][0];
  EXPECT_EQ(step["method"], "weights int4");
  EXPECT_EQ(step["rounded"], "to the nearest");
}

TEST_P(Int4Folder, CalibratedWeightsAreDequantizedOnLoad) {
  REQUIRE_ORACLE();
  REQUIRE_PLUGIN("cpu");
  quantize_weights(job());
  quantize_weights(constrain_batch_sharding());
  EXPECT_NE(io::read_file(dir_.file("gptq/model.safetensors")),
            io::read_file(dir_.file("int4/model.safetensors")));
  check_by_numpy("gptq", "--plain " + dir_.file("plain"));
  const checkpoint::StoredModel is = checkpoint::open_stored_model(dir_.file("gptq"), "test"),
                                plain = checkpoint::open_stored_model(dir_.file("plain"), "test");
  EXPECT_TRUE(is.skipped.empty());
  ASSERT_EQ(is.tensors.size(), plain.tensors.size());
  for (const auto& [name, tensor] : plain.tensors)
    EXPECT_EQ(is.tensors.at(name).read(), tensor.read()) << name;
  if (is_t5())
    EXPECT_EQ(answers_of_folder(dir_.file("gptq")), answers_of_folder(dir_.file("plain")));
  else
    EXPECT_EQ(scores_of_folder(GoldenClassify(GetParam()), dir_.file("gptq")),
              scores_of_folder(GoldenClassify(GetParam()), dir_.file("plain")));
  const Json step = Json::parse(io::read_file(dir_.file("gptq/compress.json")))["steps"][0];
  EXPECT_EQ(step["rounded"], "gptq");
  EXPECT_EQ(step["calibrated_by"]["input"], dir_.file("rows.tsv"));
}

TEST(Int4, RejectsInvalidOptions) {
  const TempDir dir;
  GoldenClassify("bert").write_folder(dir.file("hf"));
  const auto refusal = [&](const auto& change) {
    QuantizeJob job{.from = dir.file("hf"), .to = dir.file("out"), .weights = WeightType::int4};
    job.group = 8;
    change(job);
    return error_of<UsageError>([&] { quantize_weights(job); });
  };
  EXPECT_THAT(refusal([](QuantizeJob& job) { job.group = 128; }),
              HasSubstr(".weight' is f32[16,16], cannot divide its columns into groups of 128\n  "
                        "hint: give --group a multiple of 8 that divides 8"));
  EXPECT_THAT(refusal([](QuantizeJob& job) { job.embeddings = true; }),
              HasSubstr("--embeddings cannot be combined with --weights int4"));
  EXPECT_THAT(refusal([](QuantizeJob& job) { job.activations = Activations::by_row; }),
              HasSubstr("--activations dynamic cannot be combined with --weights int4"));
  EXPECT_FALSE(io::exists(dir.file("out")));
}

// Other programs may write such tensors.
TEST(Int4, RejectsInconsistentTensors) {
  const TempDir dir;
  GoldenClassify("bert").write_folder(dir.file("hf"));
  QuantizeJob job{.from = dir.file("hf"), .to = dir.file("int4"), .weights = WeightType::int4};
  job.group = 8;
  quantize_weights(job);
  std::filesystem::remove(dir.file("int4/compress.json"));
  const std::string path = dir.file("int4/model.safetensors");
  const io::SafetensorsFile whole(io::read_file(path), "int4");
  const std::string name = "bert.encoder.layer.0.output.dense.weight";
  const auto refusal = [&](const auto& change) {
    io::TensorMap tensors = whole.tensors();
    change(tensors);
    io::write_file(path, io::safetensors_bytes(tensors, whole.metadata()));
    return error_of<UsageError>([&] { checkpoint::open_stored_model(dir.file("int4"), "test"); });
  };
  EXPECT_THAT(refusal([&](io::TensorMap& t) { t.erase(name + "_scale"); }),
              HasSubstr("'" + name + "_packed' exists without '" + name + "_scale'"));
  EXPECT_THAT(
      refusal([&](io::TensorMap& t) { t[name + "_scale"] = t["bert.pooler.dense.weight"]; }),
      HasSubstr("_packed' is i32[16,3] and its scales f32[16,16], which does not fit a matrix "
                "[16,24]"));
  EXPECT_THAT(refusal([&](io::TensorMap& t) { t[name + "_g_idx"] = t[name + "_shape"]; }),
              HasSubstr("has zero points or an activation order"));
}

}  // namespace
}  // namespace smelt::compress
