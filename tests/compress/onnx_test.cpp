// Compares fine-tuned models as ONNX files, run by onnxruntime, with smelt and transformers.
#include <gmock/gmock.h>

#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/onnx_model.h"
#include "checkpoint/storage/checkpoint.h"
#include "compress/folder_scores.h"
#include "compress/prune.h"
#include "compress/quantize.h"
#include "compress/sparsify.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "runs/golden_classify.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/largest_difference.h"
#include "support/oracle.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Onnx : public testing::TestWithParam<const char*> {
 protected:
  std::vector<float> logits_of(const std::string& folder) const {
    const std::string file = dir_.file(folder + ".onnx");
    checkpoint::write_onnx_model(dir_.file(folder), file);
    return logits_by("check_onnx.py", golden_, file);
  }
  // Returns the largest difference between the file's logits and smelt's logits for the folder.
  double apart(const std::string& folder) const {
    return largest_difference(scores_of_folder(golden_, dir_.file(folder)), logits_of(folder));
  }
  TempDir dir_;
  const GoldenClassify golden_{GetParam()};
};

using OnnxHead = Onnx;
INSTANTIATE_TEST_SUITE_P(Models, OnnxHead,
                         testing::Values("bert", "electra", "bert-tokens", "electra-tokens",
                                         "bert-spans", "electra-spans"));

TEST_P(OnnxHead, MatchesTransformersAtAnyBatchAndLength) {
  REQUIRE_ORACLE();
  golden_.write_folder(dir_.file("hf"));
  EXPECT_LT(smelt::largest_difference(logits_of("hf"),
                                      logits_by("check_hf_folder.py", golden_, dir_.file("hf"))),
            1e-5);
}

using QuantizedOnnx = Onnx;
INSTANTIATE_TEST_SUITE_P(Models, QuantizedOnnx, testing::Values("bert", "electra"));

TEST_P(QuantizedOnnx, Int8MatmulsMatchSmelt) {
  REQUIRE_ORACLE();
  REQUIRE_PLUGIN("cpu");
  write_golden_folder(GetParam(), false, dir_);
  QuantizeJob job{.from = dir_.file("hf"), .to = dir_.file("floats"), .embeddings = true};
  quantize_weights(job);
  job.to = dir_.file("dynamic");
  job.activations = Activations::by_row;
  quantize_weights(job);
  job.to = dir_.file("static");
  job.activations = Activations::by_input_scale;
  job.rows.rows.input = dir_.file("rows.tsv");
  quantize_weights(job);
  const auto scores = scores_of_folder(golden_, dir_.file("hf"));
  for (const char* folder : {"floats", "dynamic", "static"}) {
    EXPECT_LT(apart(folder), 2e-5) << folder;
    EXPECT_NE(scores_of_folder(golden_, dir_.file(folder)), scores) << folder;
  }
}

TEST_P(QuantizedOnnx, SupportsPrunedAndSparseModels) {
  REQUIRE_ORACLE();
  REQUIRE_PLUGIN("cpu");
  write_golden_folder(GetParam(), false, dir_);
  PruneJob job{.from = dir_.file("hf"), .to = dir_.file("cut"), .ffn = 0.5, .heads = 0.5};
  job.layers.kept = {1};
  job.data.rows.input = dir_.file("rows.tsv");
  prune_model(job);
  EXPECT_LT(apart("cut"), 1e-5);
  sparsify_model({.from = dir_.file("hf"), .to = dir_.file("sparse"), .sparsity = 0.5});
  EXPECT_LT(apart("sparse"), 1e-5);
}

// Compares with `smelt predict` for the same checkpoint.
TEST(OnnxModel, ExportsMovingAverages) {
  const TempDir dir;
  const std::string model = dir.file("run/model"), bias = "output_bias";
  GoldenClassify("bert").write_folder(dir.file("hf"));
  const checkpoint::Converted plain = checkpoint::convert_checkpoint(
      {.from = dir.file("hf"), .to = model, .form = checkpoint::ModelForm::smelt});
  checkpoint::Checkpoint checkpoint = checkpoint::load_checkpoint(model, plain.step);
  const compiler::Shape shape = checkpoint.tensors.at(bias).shape;
  const std::vector<float> mean(static_cast<std::size_t>(shape.elements()), 0.5F);
  const io::TensorView average{shape, std::as_bytes(std::span(mean))};
  checkpoint.tensors.emplace("ema/" + bias, average);
  checkpoint::save_checkpoint(model, plain.step + 1, checkpoint.tensors, checkpoint.state);
  checkpoint.tensors.at(bias) = average;
  checkpoint::save_checkpoint(dir.file("averaged"), 1, checkpoint.tensors, checkpoint.state);
  const CapturedLog log;
  for (const std::string& from : {std::string("run/model"), std::string("averaged")})
    checkpoint::write_onnx_model(dir.file(from), dir.file(io::path_name(from) + ".onnx"));
  EXPECT_EQ(io::read_file(dir.file("model.onnx")), io::read_file(dir.file("averaged.onnx")));
  EXPECT_THAT(log.text(), HasSubstr("exporting the moving averages of the weights"));
}

TEST(OnnxModel, WarnsThatInt4BecomesFloat) {
  const TempDir dir;
  GoldenClassify("bert").write_folder(dir.file("hf"));
  quantize_weights(
      {.from = dir.file("hf"), .to = dir.file("int4"), .weights = WeightType::int4, .group = 8});
  const CapturedLog log;
  checkpoint::write_onnx_model(dir.file("int4"), dir.file("a.onnx"));
  EXPECT_THAT(log.text(), HasSubstr("int4 weights are written to the ONNX file as floats"));
}

TEST(OnnxModel, DoesNotOverwriteAFile) {
  const TempDir dir;
  expect_refusal(str("convert ", dir.file("hf"), " ", dir.file("a.onnx"), " --dtype bf16"),
                 HasSubstr("--dtype: cannot be used with an ONNX file, which holds the moving"));
  const auto refusal = [&](const char* to) {
    return error_of<UsageError>(
        [&] { checkpoint::write_onnx_model(dir.file("hf"), dir.file(to)); });
  };
  GoldenClassify("bert").write_folder(dir.file("hf"));
  expect_refusal(str("convert ", dir.file("hf"), " ", dir.file("a.onnx"), " --vocab v.txt"),
                 HasSubstr("--vocab: cannot be used with a single ONNX file"));
  expect_refusal(str("convert ", dir.file("hf"), " ", dir.file("o"), " --to onnx --config c.json"),
                 HasSubstr("--config: cannot be used with a Hugging Face folder as its source"));
  io::write_file(dir.file("there.onnx"), "");
  EXPECT_THAT(refusal("there.onnx"), HasSubstr("there.onnx already exists\n  hint: remove it"));
  EXPECT_FALSE(io::exists(dir.file("a.onnx")));
  checkpoint::write_onnx_model(dir.file("hf"), dir.file("b.onnx"));
  checkpoint::write_onnx_model(dir.file("hf"), dir.file("c.onnx"));
  EXPECT_EQ(io::read_file(dir.file("b.onnx")), io::read_file(dir.file("c.onnx")));
}

}  // namespace
}  // namespace smelt::compress
