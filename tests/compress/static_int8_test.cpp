// Folders with int8 matmuls and static scales, which are calibrated in advance, and smoothed
// channels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/json.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/storage/lazy_files.h"
#include "compress/folder_scores.h"
#include "compress/product_inputs.h"
#include "compress/quantize.h"
#include "compress/scaled_tensor.h"
#include "compress/smooth.h"
#include "compress/source_folder.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/objectives/pretrained_model.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::HasSubstr;

class StaticInt8 : public testing::Test {
 protected:
  void write(const std::string& name) const { write_golden_folder(name, name == "small", dir_); }
  PruneData rows() const {
    PruneData out = QuantizeJob().rows;
    out.rows.input = dir_.file("rows.tsv");
    out.seq_length = 10;
    out.target_length = 6;
    out.batch_size = 8;
    return out;
  }
  QuantizeJob job(const std::string& to, Calibration by = Calibration::minmax) const {
    QuantizeJob out{.from = dir_.file("hf"), .to = dir_.file(to), .rows = rows()};
    out.activations = Activations::by_input_scale;
    out.calibration = by;
    return out;
  }
  std::string refusal(const QuantizeJob& asked) const {
    return error_of<UsageError>([&] { quantize_weights(asked); });
  }
  TempDir dir_;
};

TEST_F(StaticInt8, ScoresMatchNumpy) {
  REQUIRE_ORACLE();
  REQUIRE_PLUGIN("cpu");
  write("bert");
  const GoldenClassify golden("bert");
  for (const Calibration by : {Calibration::minmax, Calibration::mse}) {
    const std::string to(word_of(by, kCalibrations));
    quantize_weights(job(to, by));
    const auto scores = scores_of_folder(golden, dir_.file(to));
    const std::string tool = "int8_products_twin.py";
    EXPECT_LE(largest_difference(scores, logits_by(tool, golden, dir_.file(to))), 2e-5);
    EXPECT_GE(largest_difference(scores, logits_by(tool + " --floats", golden, dir_.file(to))),
              1e-3);
    const auto read = run_oracle(str(source_path("tools/check_int8_folder.py"), " ", dir_.file(to),
                                     " --source ", dir_.file("hf")));
    EXPECT_EQ(read.status, 0) << read.text;
  }
}

TEST_F(StaticInt8, RecordsScalesAndCalibration) {
  REQUIRE_PLUGIN("cpu");
  write("bert");
  const Quantized done = quantize_weights(job("w8a8"));
  const Json config = Json::parse(io::read_file(dir_.file("w8a8/config.json")));
  EXPECT_EQ(config["quantization_config"]["config_groups"]["group_0"]["input_activations"],
            checkpoint::activations_by_input_scale());
  const Json step = Json::parse(io::read_file(dir_.file("w8a8/compress.json")))["steps"][0];
  EXPECT_EQ(step["activations"], "static");
  EXPECT_EQ(step["calibration"], "minmax");
  EXPECT_EQ(step["calibrated_by"]["input"], dir_.file("rows.tsv"));
  ASSERT_EQ(done.ranges.size(), done.tensors.size());
  const io::LazyTensors tensors = checkpoint::open_safetensors(dir_.file("w8a8/model.safetensors"));
  for (const auto& [module, range] : done.ranges) {
    EXPECT_EQ(range.threshold, range.most);
    EXPECT_EQ(checkpoint::read_values<float>(tensors.at(module + checkpoint::kInputScale))[0],
              input_scale_for(range.most));
  }
  const std::string self = "bert.encoder.layer.0.attention.self.";
  EXPECT_EQ(done.ranges.at(self + "query").most, done.ranges.at(self + "value").most);
}

// Every fourth of 24 rows has three tokens, including [CLS] and [SEP], and the others have four.
TEST_F(StaticInt8, IgnoresPaddingInCalibration) {
  REQUIRE_PLUGIN("cpu");
  write("bert");
  const std::string kernel = "bert/encoder/layer_1/intermediate/dense/kernel";
  const PruneRows given(open_source_folder(dir_.file("hf")), rows());
  const AbsHistogram found = given.histograms({kernel}, {}).at(kernel);
  EXPECT_EQ(std::accumulate(found.counts.begin(), found.counts.end(), std::int64_t{0}),
            (6 * 3 + 18 * 4) * 16);
  const std::vector<float> most = given.channel_maxima({kernel}).at(kernel);
  EXPECT_EQ(found.most, std::ranges::max(most));
  ChannelNumbers halves{{kernel, std::vector<float>(16, 2)}};
  EXPECT_EQ(given.histograms({kernel}, halves).at(kernel).most, found.most / 2);
}

class SmoothedT5 : public StaticInt8, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { write_golden_folder(GetParam(), true, dir_); }
};
INSTANTIATE_TEST_SUITE_P(Models, SmoothedT5, testing::Values("small", "gated"));

TEST_P(SmoothedT5, KeepsOutputsAndScalesChannels) {
  REQUIRE_PLUGIN("cpu");
  SourceFolder source = open_source_folder(dir_.file("hf"));
  const PruneRows given(source, rows());
  const ChannelNumbers factors = smooth(source, given, 0.5);
  std::vector<std::string> parameters;
  for (const auto& [parameter, factor] : factors) parameters.push_back(parameter);
  const ChannelNumbers before = given.channel_maxima(parameters);
  write_compressed_folder(dir_.file("smooth"), source,
                          {.config = source.config, .tensors = source.tensors, .step = {}});
  const PruneRows of_smooth(open_source_folder(dir_.file("smooth")), rows());
  const ChannelNumbers after = of_smooth.channel_maxima(parameters);
  std::size_t changed = 0;
  for (const auto& [parameter, s] : factors)
    for (std::size_t j = 0; j < s.size(); ++j) {
      EXPECT_NEAR(after.at(parameter)[j], before.at(parameter)[j] / s[j],
                  1e-4 * before.at(parameter)[j] / s[j])
          << parameter;
      changed += s[j] != 1 ? 1 : 0;
    }
  EXPECT_GT(changed, 100);
  const std::string wo = "encoder.block.0.layer.1.DenseReluDense.wo";
  const auto weights = checkpoint::read_values<float>(
      checkpoint::as_dtype(source.tensors.at(wo + ".weight"), compiler::DType::f32));
  const auto& inputs = after.at(kernel_of(wo));
  for (std::size_t j = 0; j < inputs.size(); ++j) {  // both maxima become sqrt(max|X_j| max|W_j|)
    float most = 0;
    for (std::size_t i = j; i < weights.size(); i += inputs.size())
      most = std::max(most, std::abs(weights[i]));
    EXPECT_NEAR(inputs[j], inputs[j] > 0 ? most : 0, 1e-4 * most);
  }
  expect_same_answers(answers_of_folder(dir_.file("smooth")), answers_of_folder(dir_.file("hf")),
                      1e-5);
}

// Returns the log-probabilities of the likeliest first tokens of several answers. Unlike the scores
// of whole answers they change continuously with the weights.
std::vector<double> first_token_scores(const std::string& folder) {
  execution::GenerateOptions with;
  with.search.most_tokens = 1;
  const std::vector<std::string> texts{"a bad cab", "a bed, a dab", "dab", "a cab",
                                       "bad ebb",   "a bad ebb",    "bed", "a dab bed"};
  std::vector<double> out;
  for (const auto& found : pipeline::PretrainedModel::of_folder(folder).generate(texts, with))
    out.push_back(found.at(0).score);
  return out;
}

// Makes one channel of a norm 300 times as large and its weights 300 times as small.
TEST_P(SmoothedT5, ReducesErrorOfALargeChannel) {
  REQUIRE_PLUGIN("cpu");
  SourceFolder source = open_source_folder(dir_.file("hf"));
  const std::string layer = "encoder.block.0.layer.0.";
  io::LazyTensor& norm = source.tensors.at(layer + "layer_norm.weight");
  std::vector<float> large(static_cast<std::size_t>(norm.shape.dims[0]), 1), small = large;
  large[3] = 300;
  small[3] = 1.0F / 300;
  norm = with_scaled_rows(norm, large);
  for (const char* part : {"q", "k", "v"}) {
    io::LazyTensor& taker = source.tensors.at(str(layer, "SelfAttention.", part, ".weight"));
    taker = with_scaled_columns(taker, small);
  }
  write_compressed_folder(dir_.file("outlier"), source,
                          {.config = source.config, .tensors = source.tensors, .step = {}});
  QuantizeJob plain = job("plain"), smoothed = job("smoothed");
  plain.from = smoothed.from = dir_.file("outlier");
  smoothed.smooth = 0.5;
  quantize_weights(plain);
  quantize_weights(smoothed);
  const auto was = first_token_scores(dir_.file("outlier"));
  const auto lost = [&](const std::string& folder) {
    const auto is = first_token_scores(dir_.file(folder));
    double out = 0;
    for (std::size_t i = 0; i < is.size(); ++i) out += std::abs(is[i] - was[i]);
    return out;
  };
  EXPECT_LT(lost("smoothed"), lost("plain"));
  const Json said = Json::parse(io::read_file(dir_.file("smoothed/compress.json")));
  EXPECT_EQ(said["steps"].back()["smooth"], 0.5);
}

TEST_F(StaticInt8, RejectsInvalidOptions) {
  write("bert");
  QuantizeJob asked = job("out");
  asked.rows = QuantizeJob().rows;
  EXPECT_THAT(refusal(asked), HasSubstr("--activations static needs calibration data for input "
                                        "scales\n  hint: give labelled rows"));
  asked = job("out");
  asked.activations = Activations::floats;
  EXPECT_THAT(refusal(asked),
              HasSubstr("--calibrate has no effect with --weights int8 and --activations other "
                        "than static\n  hint: remove it, or use --activations static"));
  asked.smooth = 0.5;
  EXPECT_THAT(refusal(asked), HasSubstr("--smooth needs --activations"));
  asked = job("out");
  asked.weights = WeightType::int4;
  EXPECT_THAT(refusal(asked),
              HasSubstr("--activations static cannot be combined with --weights int4"));
  asked = job("out");
  asked.smooth = 0.5;
  EXPECT_THAT(refusal(asked), HasSubstr("is an encoder\n  hint: remove --smooth"));
  io::write_file(dir_.file("rows.tsv"), "text\tlabel\n");
  EXPECT_THAT(refusal(job("out")),
              HasSubstr("rows.tsv has no row to make an example of\n  hint: give rows"));
  EXPECT_FALSE(io::exists(dir_.file("out")));
}

TEST_F(StaticInt8, ChecksFlagsAgainstEachOther) {
  write("bert");
  const std::string quantize =
      str("compress quantize ", dir_.file("hf"), " --out ", dir_.file("out"), " ");
  expect_refusal(
      quantize + "--calibration mse",
      HasSubstr("--calibration with --activations floats: only static activations are calibrated"
                "\n  hint: remove it, or use --activations static"));
  expect_refusal(quantize + "--activations static --calibration entropie",
                 HasSubstr("--calibration 'entropie' is unknown\n  hint: did you mean 'entropy'?"));
  expect_refusal(quantize + "--activations statik", HasSubstr("did you mean 'static'?"));
  expect_refusal(quantize + "--activations dynamic --smooth 2",
                 HasSubstr("--smooth is 2, must be above 0 and at most 1"));
  expect_refusal(quantize + "--examples 9", HasSubstr("--examples: requires --calibrate"));
  expect_refusal(quantize + "--group 64", HasSubstr("--group: requires --weights int4"));
}

}  // namespace
}  // namespace smelt::compress
