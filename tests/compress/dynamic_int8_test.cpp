// Folders with int8 matmuls: outputs, memory on a device, and the platforms that run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/interop/stored_model.h"
#include "checkpoint/storage/lazy_files.h"
#include "compiler/stablehlo/writer.h"
#include "compress/folder_scores.h"
#include "compress/quantize.h"
#include "compress/source_folder.h"
#include "execution/inference/answering_placement.h"
#include "execution/train_state/placement_options.h"
#include "io/filesystem/file.h"
#include "model/tasks/classify_task.h"
#include "model/train_step/program.h"
#include "pjrt/topology.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DynamicInt8 : public testing::Test {
 protected:
  Quantized quantize(const std::string& to = "w8a8",
                     Activations activations = Activations::by_row) const {
    return quantize_weights(
        {.from = dir_.file("hf"), .to = dir_.file(to), .activations = activations});
  }
  TempDir dir_;
};

TEST_F(DynamicInt8, ScoresMatchNumpy) {
  REQUIRE_ORACLE();
  REQUIRE_PLUGIN("cpu");
  const GoldenClassify golden("bert");
  golden.write_folder(dir_.file("hf"));
  quantize();
  const auto scores = scores_of_folder(golden, dir_.file("w8a8"));
  const std::string tool = "int8_products_twin.py";
  EXPECT_LE(largest_difference(scores, logits_by(tool, golden, dir_.file("w8a8"))), 2e-5);
  EXPECT_GE(largest_difference(scores, logits_by(tool + " --floats", golden, dir_.file("w8a8"))),
            1e-3);
}

TEST_F(DynamicInt8, ConfigDescribesActivations) {
  GoldenClassify("bert").write_folder(dir_.file("hf"));
  quantize();
  quantize("w8a16", Activations::floats);
  const auto group = [&](const std::string& folder) {
    const Json config = Json::parse(io::read_file(dir_.file(folder + "/config.json")));
    return config["quantization_config"]["config_groups"]["group_0"]["input_activations"];
  };
  EXPECT_EQ(group("w8a16"), Json());
  EXPECT_EQ(group("w8a8"), checkpoint::activations_by_row());
  EXPECT_EQ(io::read_file(dir_.file("w8a8/model.safetensors")),
            io::read_file(dir_.file("w8a16/model.safetensors")));
  const Json said = Json::parse(io::read_file(dir_.file("w8a8/compress.json")));
  EXPECT_EQ(said["steps"][0]["activations"], "dynamic");
}

class DynamicInt8OfT5 : public DynamicInt8, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, DynamicInt8OfT5, testing::Values("small", "gated"));

TEST_P(DynamicInt8OfT5, OutputsAreCloseToWeightOnlyInt8) {
  REQUIRE_PLUGIN("cpu");
  GoldenT5(GetParam()).write_folder(dir_.file("hf"));
  quantize();
  quantize("w8a16", Activations::floats);
  const auto is = answers_of_folder(dir_.file("w8a8")), was = answers_of_folder(dir_.file("w8a16"));
  EXPECT_NE(is, was);
  for (std::size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(is[i].second, was[i].second, 0.1);
}

TEST_F(DynamicInt8, StaysInt8OnDevicesAndCompilesForTpus) {
  const GoldenClassify golden("bert");
  golden.write_folder(dir_.file("hf"));
  const Quantized done = quantize();
  const checkpoint::StoredTensors held = checkpoint::load_undecoded(
      checkpoint::as_codes(checkpoint::open_stored_model(dir_.file("w8a8"), "test").tensors));
  const auto compute =
      execution::with_int8_matmuls(held.tensors, model::compute_for("tpu", {}, flag));
  const model::StepProgram program =
      model::predict_program(model::class_probabilities(golden.settings(), 12), 8, compute);
  std::size_t in_codes = 0;
  for (const model::StateTensor& tensor : program.state.tensors) {
    EXPECT_EQ(held.tensors.at(tensor.name).shape, tensor.shape) << tensor.name;
    in_codes += tensor.shape.dtype == compiler::DType::s8 ? 1 : 0;
  }
  EXPECT_EQ(in_codes, done.tensors.size());
  REQUIRE_PLUGIN("tpu");
  for (const char* chips : {"v2:1x1", "v5e:1x1"})
    EXPECT_GT(pjrt::Topology::tpu(chips)
                  .compile(compiler::emit_module(program.program, "step"),
                           execution::compile_options(program.placement))
                  .memory()
                  .argument_bytes,
              0)
        << chips;
}

TEST_F(DynamicInt8, LoadCommandReportsLoadingTimes) {
  REQUIRE_PLUGIN("cpu");
  GoldenClassify("bert").write_folder(dir_.file("hf"));
  quantize();
  const CommandOutput out =
      run_smelt(str("compress load ", dir_.file("w8a8"), " --length 8 --json 2>/dev/null | cat"));
  const Json said = Json::parse(out.text);
  for (const char* field : {"load_seconds", "first_answer_seconds", "weights_seconds"})
    EXPECT_GT(said[field], 0) << field;
}

// In each row of one output matrix, a weight is 260 times the others, so these are all quantized to
// 0. With 1536 columns the signal-to-noise ratio is then 16 dB.
TEST_F(DynamicInt8, LeavesANoisyMatrixInFloatingPoint) {
  constexpr std::int64_t F = 1536;
  GoldenClassify("bert").write_folder(dir_.file("hf"));
  const SourceFolder source = open_source_folder(dir_.file("hf"));
  CompressedFolder wide{.config = source.config, .tensors = source.tensors, .step = {}};
  wide.config["intermediate_size"] = F;
  const auto filled = [](compiler::Dims dims, float first_of_row) {
    const compiler::Shape shape{compiler::DType::f32, std::move(dims)};
    return io::LazyTensor{shape, [shape, first_of_row] {
                            std::vector<float> values(static_cast<std::size_t>(shape.elements()),
                                                      0.01F);
                            for (std::size_t at = 0; at < values.size(); at += F)
                              values[at] = first_of_row;
                            const auto bytes = std::as_bytes(std::span(values));
                            return std::vector<std::byte>(bytes.begin(), bytes.end());
                          }};
  };
  for (const int layer : {0, 1}) {
    const std::string at = str("bert.encoder.layer.", layer, ".");
    wide.tensors[at + "intermediate.dense.weight"] = filled({F, 16}, 0.01F);
    wide.tensors[at + "intermediate.dense.bias"] = filled({F}, 0.01F);
    wide.tensors[at + "output.dense.weight"] = filled({16, F}, layer == 0 ? 2.6F : 0.01F);
  }
  write_compressed_folder(dir_.file("wide"), source, wide);
  QuantizeJob job{
      .from = dir_.file("wide"), .to = dir_.file("w8a8"), .activations = Activations::by_row};
  const Quantized done = quantize_weights(job);
  EXPECT_THAT(done.too_coarse, ElementsAre("bert.encoder.layer.0.output.dense.weight"));
  EXPECT_EQ(done.tensors.size(), 11);
  const Json config = Json::parse(io::read_file(dir_.file("w8a8/config.json")));
  EXPECT_THAT(config["quantization_config"]["ignore"],
              testing::Contains(Json("bert.encoder.layer.0.output.dense")));
  job.to = dir_.file("none");
  job.keep = {"*attention*", "*intermediate*", "*.1.output*"};
  EXPECT_THAT(error_of<UsageError>([&] { quantize_weights(job); }),
              HasSubstr("no matrix reaches a signal-to-noise ratio of 20 dB, which int8 matmuls "
                        "need\n  hint: remove --activations"));
  EXPECT_FALSE(io::exists(dir_.file("none")));
}

}  // namespace
}  // namespace smelt::compress
