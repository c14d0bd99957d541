// Compares folders of ONNX files, run by onnxruntime, with transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/hugging_face.h"
#include "checkpoint/interop/onnx_model.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "runs/golden_t5.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::compress {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Json facts(const char* name) {
  return Json::parse(io::read_file(source_path(str("tests/golden/", name, ".json"))));
}

std::string vocabulary() {
  std::string out = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 5; i < 99; ++i) out += str("word", i, "\n");
  return out;
}

class OnnxFolder : public testing::Test {
 protected:
  // Writes "hf", of a BERT that lacks the parameters that begin with any of `without`.
  void write_bert(const std::vector<std::string>& without) const {
    const io::SafetensorsFile file(io::read_file(source_path("tests/golden/bert_tiny.safetensors")),
                                   "bert");
    checkpoint::HuggingFaceBert bert{.config = facts("bert_tiny")["config"],
                                     .parameters = {},
                                     .vocab_txt = vocabulary(),
                                     .tokenizer = {},
                                     .owner = {}};
    for (const auto& [key, tensor] : file.tensors()) {
      const std::string name = key.substr(std::min<std::size_t>(6, key.size()));
      const bool is_left_out = std::ranges::any_of(
          without, [&](const std::string& begin) { return name.starts_with(begin); });
      if (key.starts_with("param/") && !is_left_out) bert.parameters.emplace(name, tensor);
    }
    checkpoint::export_hugging_face(dir_.file("hf"), bert);
  }
  // Writes "run", a model folder of an ELECTRA as training saves it: both parts, or no generator.
  void write_electra(bool with_generator = true) const {
    const Json h = facts("electra_tiny")["cases"]["electra"]["hparams"];
    Json config{{"vocab_size", h["vocab_size"]},
                {"embedding_size", h["embedding_size"]},
                {"generator_layers", h["generator_layers"]},
                {"generator_hidden_size", h["generator_hidden_size"]}};
    config.update(h["model_hparam_overrides"]);
    const io::SafetensorsFile file(
        io::read_file(source_path("tests/golden/electra_tiny.safetensors")), "e");
    const std::string prefix = "electra/param/";
    io::TensorMap tensors;
    for (const auto& [key, tensor] : file.tensors())
      if (key.starts_with(prefix) && (with_generator || !key.starts_with(prefix + "generator")))
        tensors.emplace(key.substr(prefix.size()), tensor);
    io::write_file(dir_.file("run/vocab.txt"), vocabulary());
    checkpoint::save_checkpoint(dir_.file("run"), 5, tensors,
                                {{"task", "electra"}, {"model", config}});
  }
  // Writes "onnx" and returns what the check against transformers printed.
  std::string checked(const std::string& from,
                      checkpoint::OnnxTask task = checkpoint::OnnxTask::automatic) const {
    std::filesystem::remove_all(dir_.file("onnx"));
    checkpoint::write_onnx_folder(dir_.file(from), dir_.file("onnx"), task);
    const CommandOutput check = run_oracle(str(source_path("tools/check_onnx_folder.py"), " ",
                                               dir_.file(from), " ", dir_.file("onnx")));
    return str(check.status, " ", check.text);
  }
  TempDir dir_;
};

TEST_F(OnnxFolder, ExportsABertAsMaskedLmOrEncoder) {
  REQUIRE_ORACLE();
  write_bert({});
  EXPECT_THAT(checked("hf"), AllOf(StartsWith("0 "), HasSubstr("\noutput logits\n")));
  EXPECT_THAT(checked("hf", checkpoint::OnnxTask::feature_extraction),
              AllOf(StartsWith("0 "), HasSubstr("\noutput last_hidden_state")));
}

TEST_F(OnnxFolder, ComputesErfGeluLikeTransformers) {
  REQUIRE_ORACLE();
  write_bert({"bert/pooler/", "cls/seq_relationship/"});
  Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  config["hidden_act"] = "gelu";
  io::write_file(dir_.file("hf/config.json"), config.dump());
  EXPECT_THAT(checked("hf"), AllOf(StartsWith("0 "), HasSubstr("\noutput logits\n")));
}

TEST_F(OnnxFolder, ExportsDiscriminatorOrGeneratorOfAnElectra) {
  REQUIRE_ORACLE();
  write_electra();
  checkpoint::convert_checkpoint({.from = dir_.file("run"),
                                  .to = dir_.file("hf"),
                                  .form = checkpoint::ModelForm::hugging_face});
  EXPECT_THAT(checked("hf/generator"), AllOf(StartsWith("0 "), HasSubstr("\noutput logits\n")));
  EXPECT_THAT(checked("hf/discriminator"),
              AllOf(StartsWith("0 "), HasSubstr("\noutput last_hidden_state")));
}

class OnnxT5Folder : public OnnxFolder, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, OnnxT5Folder, testing::Values("small", "gated"));

TEST_P(OnnxT5Folder, LogitsMatchTransformersWithAndWithoutKvCache) {
  REQUIRE_ORACLE();
  GoldenT5(GetParam()).write_folder(dir_.file("hf"));
  EXPECT_THAT(checked("hf"), AllOf(StartsWith("0 "), HasSubstr("\noutput logits\n")));
}

TEST_F(OnnxFolder, ReportsItsFiles) {
  GoldenT5("small").write_folder(dir_.file("hf"));
  const checkpoint::OnnxModel made =
      checkpoint::write_onnx_folder(dir_.file("hf"), dir_.file("onnx"));
  EXPECT_EQ(made.task, "text2text-generation");
  EXPECT_THAT(made.files, ElementsAre("encoder_model.onnx", "decoder_model.onnx",
                                      "decoder_with_past_model.onnx"));
  std::uint64_t bytes = 0;
  for (const std::string& name : made.files) bytes += io::file_size(dir_.file("onnx/" + name));
  EXPECT_EQ(made.bytes, bytes);
  EXPECT_TRUE(io::exists(dir_.file("onnx/spiece.model")));
}

TEST_F(OnnxFolder, RejectsUnsupportedTasks) {
  write_bert({"cls/"});
  const auto refusal = [&](const char* to, checkpoint::OnnxTask task) {
    return error_of<UsageError>(
        [&] { checkpoint::write_onnx_folder(dir_.file("hf"), dir_.file(to), task); });
  };
  EXPECT_THAT(refusal("onnx", checkpoint::OnnxTask::fill_mask),
              HasSubstr("hf (BertModel) has no masked-language-model head\n"));
  EXPECT_FALSE(io::exists(dir_.file("onnx")));
  std::filesystem::remove_all(dir_.file("hf"));
  GoldenT5("small").write_folder(dir_.file("hf"));
  EXPECT_THAT(refusal("onnx", checkpoint::OnnxTask::fill_mask),
              HasSubstr("--task is for encoders, but this model is a T5\n  hint: remove --task"));
  EXPECT_THAT(error_of<UsageError>(
                  [&] { checkpoint::write_onnx_model(dir_.file("hf"), dir_.file("a.onnx")); }),
              HasSubstr("a T5 takes three ONNX files, not one\n  hint: give a new folder: smelt "));
}

// A run's checkpoint becomes a Hugging Face folder first.
TEST_F(OnnxFolder, IncludesTheTokenizerOfACheckpoint) {
  write_electra();
  const CommandOutput made = run_smelt(
      str("convert ", dir_.file("run"), " ", dir_.file("onnx"), " --to onnx --task fill-mask"));
  EXPECT_EQ(made.status, 0) << made.text;
  for (const char* name : {"model.onnx", "config.json", "tokenizer.json", "vocab.txt"})
    EXPECT_TRUE(io::exists(dir_.file(str("onnx/", name)))) << name;
  EXPECT_THAT(io::read_file(dir_.file("onnx/config.json")), HasSubstr("ElectraForMaskedLM"));
  checkpoint::write_onnx_model(dir_.file("run"), dir_.file("one.onnx"),
                               checkpoint::OnnxTask::fill_mask);
  EXPECT_EQ(io::read_file(dir_.file("one.onnx")), io::read_file(dir_.file("onnx/model.onnx")));
}

TEST_F(OnnxFolder, RejectsFillMaskForAnElectraWithoutGenerator) {
  write_electra(false);
  expect_refusal(
      str("convert ", dir_.file("run"), " ", dir_.file("onnx"), " --to onnx --task fill-mask"),
      HasSubstr("has no masked-language-model head\n"));
}

}  // namespace
}  // namespace smelt::compress
