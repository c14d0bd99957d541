// Folders with int8 weights: their content, and equal results in smelt and other programs.
#include "compress/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "checkpoint/interop/bert_names.h"
#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/interop/hugging_face_electra.h"
#include "checkpoint/storage/checkpoint.h"
#include "compress/folder_scores.h"
#include "compress/prune.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "runs/golden_classify.h"
#include "runs/golden_electra.h"
#include "runs/golden_t5.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns whether the tiny model of this name is a T5.
bool is_t5(const std::string& kind) { return kind == "small" || kind == "gated"; }

class QuantizedFolder : public testing::TestWithParam<const char*> {
 protected:
  void write_source() const {
    const std::string kind = GetParam();
    if (is_t5(kind)) return GoldenT5(kind).write_folder(dir_.file("hf"));
    GoldenClassify(kind).write_folder(dir_.file("hf"));
  }
  Quantized quantize(const QuantizeJob& with = {}) const {
    QuantizeJob job = with;
    job.from = dir_.file("hf");
    job.to = dir_.file("int8");
    return quantize_weights(job);
  }
  void check_by_numpy(const std::string& arguments = "") const {
    const auto result =
        run_oracle(str(source_path("tools/check_int8_folder.py"), " ", dir_.file("int8"),
                       " --source ", dir_.file("hf"), " ", arguments));
    EXPECT_EQ(result.status, 0) << result.text;
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, QuantizedFolder,
                         testing::Values("bert", "electra", "bert-tokens", "bert-spans", "small",
                                         "gated"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(QuantizedFolder, QuantizesMatricesAndKeepsTheRest) {
  REQUIRE_ORACLE();
  write_source();
  for (const bool embeddings : {false, true}) {
    std::filesystem::remove_all(dir_.file("int8"));
    const Quantized done = quantize({.embeddings = embeddings});
    check_by_numpy();
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(dir_.file("int8")))
      bytes += file.file_size();
    EXPECT_EQ(done.bytes, bytes);
    for (const Quantized::Tensor& tensor : done.tensors) EXPECT_GT(tensor.sqnr_db, 30);
    for (const std::string& name : io::list_folder(dir_.file("hf"))) {
      if (name.starts_with("model.") || name == "config.json") continue;
      EXPECT_EQ(io::read_file(dir_.file("int8/" + name)), io::read_file(dir_.file("hf/" + name)))
          << name;
    }
  }
}

TEST_P(QuantizedFolder, RecordsSourceAndNoise) {
  write_source();
  const Quantized done = quantize({.keep = {"*.0.*"}});
  const Json said = Json::parse(io::read_file(dir_.file("int8/compress.json")));
  EXPECT_EQ(said["format"], "smelt compress 1");
  ASSERT_EQ(said["steps"].size(), 1);
  const Json& step = said["steps"][0];
  EXPECT_EQ(step["method"], "weights int8");
  EXPECT_EQ(step["from"]["path"], dir_.file("hf"));
  EXPECT_EQ(step["from"]["weights_crc32c"],
            io::crc32c(io::read_file(dir_.file("hf/model.safetensors"))));
  EXPECT_EQ(step["keep"], Json::array({"*.0.*"}));
  EXPECT_EQ(step["sqnr_db"].size(), done.tensors.size());
  EXPECT_EQ(step["kept"], Json(done.kept));
  EXPECT_NE(step["sqnr_db"].begin().key().find(".1."), std::string::npos);
  // transformers' generate() calls the T5 encoder alone first, whose weights must be dequantized by
  // then.
  const Json config =
      Json::parse(io::read_file(dir_.file("int8/config.json")))["quantization_config"];
  EXPECT_EQ(config.value("dequantize", false), is_t5(GetParam()));
}

TEST_P(QuantizedFolder, IsDequantizedOnLoad) {
  REQUIRE_ORACLE();
  write_source();
  quantize({.embeddings = true});
  check_by_numpy("--plain " + dir_.file("plain"));
  const checkpoint::StoredModel in_codes = checkpoint::open_stored_model(dir_.file("int8"), "test"),
                                plain = checkpoint::open_stored_model(dir_.file("plain"), "test"),
                                before = checkpoint::open_stored_model(dir_.file("hf"), "test");
  ASSERT_EQ(in_codes.tensors.size(), plain.tensors.size());
  EXPECT_TRUE(in_codes.skipped.empty());
  bool other = false;
  for (const auto& [name, tensor] : plain.tensors) {
    EXPECT_EQ(in_codes.tensors.at(name).read(), tensor.read()) << name;
    other = other || before.tensors.at(name).read() != tensor.read();
  }
  EXPECT_TRUE(other);
  checkpoint::convert_checkpoint({.from = dir_.file("int8"), .to = dir_.file("tf/model.ckpt")});
  EXPECT_EQ(checkpoint::open_stored_model(dir_.file("tf/model.ckpt"), "test").tensors.size(),
            plain.tensors.size());
}

// Compares transformers' scores for the dequantized weights with smelt's for the folder itself.
class QuantizedClassifier : public QuantizedFolder {};
INSTANTIATE_TEST_SUITE_P(Models, QuantizedClassifier, testing::Values("bert", "electra"),
                         [](const auto& info) { return info.param; });

TEST_P(QuantizedClassifier, ScoresMatchDequantizedWeights) {
  REQUIRE_ORACLE();
  REQUIRE_PLUGIN("cpu");
  write_source();
  quantize({.embeddings = true});
  check_by_numpy("--plain " + dir_.file("plain"));
  const GoldenClassify golden(GetParam());
  const auto ours = scores_of_folder(golden, dir_.file("int8"));
  EXPECT_EQ(ours, scores_of_folder(golden, dir_.file("plain")));
  EXPECT_NE(ours, scores_of_folder(golden, dir_.file("hf")));
  expect_transformers_scores(golden, dir_.file("plain"), ours);
}

class QuantizedT5 : public QuantizedFolder {};
INSTANTIATE_TEST_SUITE_P(Models, QuantizedT5, testing::Values("small", "gated"),
                         [](const auto& info) { return info.param; });

TEST_P(QuantizedT5, OutputsMatchDequantizedWeights) {
  REQUIRE_PLUGIN("cpu");
  write_source();
  quantize({.embeddings = true});
  checkpoint::convert_checkpoint({.from = dir_.file("int8"),
                                  .to = dir_.file("plain"),
                                  .form = checkpoint::ModelForm::hugging_face});
  EXPECT_EQ(answers_of_folder(dir_.file("int8")), answers_of_folder(dir_.file("plain")));
  EXPECT_NE(answers_of_folder(dir_.file("int8")), answers_of_folder(dir_.file("hf")));
}

class Quantize : public testing::Test {
 protected:
  void SetUp() override { GoldenClassify("bert").write_folder(dir_.file("hf")); }
  std::string refusal(const QuantizeJob& with, const std::string& from = "hf") const {
    QuantizeJob job = with;
    job.from = dir_.file(from);
    job.to = dir_.file("int8");
    return error_of<UsageError>([&] { quantize_weights(job); });
  }
  TempDir dir_;
};

TEST_F(Quantize, DoesNotChangeTheSourceOrExistingFolders) {
  const std::string weights = io::read_file(dir_.file("hf/model.safetensors"));
  const auto before = std::filesystem::last_write_time(dir_.file("hf"));
  EXPECT_EQ(refusal({}), "no error");
  const std::string made = io::read_file(dir_.file("int8/model.safetensors"));
  EXPECT_THAT(refusal({.embeddings = true}), HasSubstr("int8"));
  EXPECT_EQ(io::read_file(dir_.file("int8/model.safetensors")), made);
  EXPECT_THAT(error_of<UsageError>(
                  [&] { quantize_weights({.from = dir_.file("hf"), .to = dir_.file("hf")}); }),
              HasSubstr("hf"));
  EXPECT_EQ(io::read_file(dir_.file("hf/model.safetensors")), weights);
  EXPECT_EQ(std::filesystem::last_write_time(dir_.file("hf")), before);
  EXPECT_THAT(io::list_folder(dir_.path()), ElementsAre("hf", "int8"));
}

// Uses realistic sizes, because vocabulary files and tensors that stay in floating point count,
// too.
TEST_F(Quantize, ReducesTheSizeToAboutAQuarterWithEmbeddings) {
  model::ClassifyTask task = GoldenClassify("bert").settings();
  model::BertConfig sizes = model::encoder_sizes(task.encoder);
  sizes.hidden_size = 384;
  sizes.num_hidden_layers = 6;
  sizes.num_attention_heads = 6;
  sizes.intermediate_size = 1536;
  sizes.vocab_size = 2000;
  task.encoder = model::bert_encoder(sizes);
  Json config = model::encoder_config_json(task.encoder);
  config[checkpoint::kNumLabels] = 3;
  io::LazyTensors parameters;
  for (const checkpoint::ParameterName& name : checkpoint::bert_names(config)) {
    if (name.original.starts_with("cls/")) continue;
    parameters.emplace(name.original, io::LazyTensor{name.shape, [shape = name.shape] {
                                                       return std::vector<std::byte>(
                                                           shape.size_bytes(), std::byte{0x3d});
                                                     }});
  }
  checkpoint::HuggingFaceClassifier model{
      .encoder = task.encoder, .labels = task.labels, .dropout = 0, .folder = {}};
  model.folder.vocab_txt = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 5; i < 2000; ++i) model.folder.vocab_txt += str("word", i, "\n");
  checkpoint::export_hugging_face(dir_.file("usual"), std::move(model), parameters, {});
  const Quantized done =
      quantize_weights({.from = dir_.file("usual"), .to = dir_.file("int8"), .embeddings = true});
  EXPECT_LE(static_cast<double>(done.bytes), 0.27 * static_cast<double>(done.bytes_before));
  EXPECT_GE(static_cast<double>(done.bytes), 0.25 * static_cast<double>(done.bytes_before));
}

TEST_F(Quantize, AcceptsARunFolder) {
  checkpoint::convert_checkpoint({.from = dir_.file("hf"),
                                  .to = dir_.file("run/model"),
                                  .form = checkpoint::ModelForm::smelt});
  EXPECT_EQ(refusal({}, "run"), "no error");
  QuantizeJob direct{.from = dir_.file("hf"), .to = dir_.file("direct")};
  quantize_weights(direct);
  EXPECT_EQ(io::read_file(dir_.file("int8/model.safetensors")),
            io::read_file(dir_.file("direct/model.safetensors")));
}

TEST_F(Quantize, UsesTheAveragesOrTheExportOfARun) {
  const std::string run = dir_.file("run"), model = dir_.file("run/model");
  const checkpoint::Converted plain = checkpoint::convert_checkpoint(
      {.from = dir_.file("hf"), .to = model, .form = checkpoint::ModelForm::smelt});
  checkpoint::Checkpoint checkpoint = checkpoint::load_checkpoint(model, plain.step);
  const io::TensorView bias = checkpoint.tensors.at("bert/pooler/dense/bias");
  const std::vector<float> mean(static_cast<std::size_t>(bias.shape.elements()), 0.5F);
  checkpoint.tensors.emplace("ema/bert/pooler/dense/bias",
                             io::TensorView{bias.shape, std::as_bytes(std::span(mean))});
  checkpoint::save_checkpoint(model, plain.step + 1, checkpoint.tensors, checkpoint.state);
  const auto taken = open_source_folder(run).tensors.at("bert.pooler.dense.bias").read();
  EXPECT_TRUE(std::ranges::equal(taken, std::as_bytes(std::span(mean))));
  prune_model(
      {.from = dir_.file("hf"), .to = io::join_path(run, "huggingface"), .layers = {.count = 1}});
  io::write_file(io::join_path(run, ".stages"), "");
  EXPECT_EQ(open_source_folder(run).folder, io::join_path(run, "huggingface"));
}

TEST_F(Quantize, DetectsAChangedByteOnLoad) {
  refusal({});
  const std::string path = dir_.file("int8/model.safetensors");
  std::string bytes = io::read_file(path);
  bytes[bytes.size() - 5] ^= 1;
  io::write_file(path, bytes);
  const auto load = [&] {
    for (const auto& [name, tensor] :
         checkpoint::open_stored_model(dir_.file("int8"), "predict").tensors)
      tensor.read();
  };
  EXPECT_THAT(error_of<UsageError>(load), HasSubstr("is damaged: its crc32c is"));
}

TEST_F(Quantize, RejectsInvalidInput) {
  EXPECT_THAT(refusal({.keep = {"*.wo"}}),
              HasSubstr("compress: --keep *.wo matches no matrix\n  hint: use a module name such "
                        "as bert.encoder.layer."));
  EXPECT_THAT(refusal({.keep = {"*"}}), HasSubstr("no matrix is left to quantize"));
  refusal({});
  QuantizeJob again{.from = dir_.file("int8"), .to = dir_.file("again")};
  EXPECT_THAT(error_of<UsageError>([&] { quantize_weights(again); }),
              HasSubstr("its weights are already quantized\n  hint: use the original model"));
  EXPECT_FALSE(io::exists(dir_.file("again")));
  io::remove_tree(dir_.file("int8"));
  Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  config["architectures"] = {"BertModel"};
  io::SafetensorsFile weights(io::read_file(dir_.file("hf/model.safetensors")), "hf");
  io::TensorMap plain = weights.tensors();
  plain.erase("classifier.weight");
  plain.erase("classifier.bias");
  io::write_file(dir_.file("pre/config.json"), config.dump());
  io::write_file(dir_.file("pre/model.safetensors"),
                 io::safetensors_bytes(plain, weights.metadata()));
  EXPECT_THAT(
      refusal({}, "pre"),
      HasSubstr(
          "is a pretrained model (bert), expected a fine-tuned one\n  hint: fine-tune it first"));
  EXPECT_THAT(refusal({}, "none"), HasSubstr("compress: "));
}

TEST_F(Quantize, RejectsTheGeneratorOfAnElectra) {
  const GoldenElectra golden("electra");
  checkpoint::ModelFolder model;
  model.parameters = golden.state();
  model.vocab_txt = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (std::int64_t i = 5; i < golden.settings().model.vocab_size; ++i)
    model.vocab_txt += str("w", i, "\n");
  checkpoint::export_hugging_face(
      dir_.file("g"), checkpoint::electra_generator_part(golden.settings().model), model);
  EXPECT_THAT(refusal({}, "g"),
              HasSubstr("is a pretrained model (electra), expected a fine-tuned one"));
}

}  // namespace
}  // namespace smelt::compress
