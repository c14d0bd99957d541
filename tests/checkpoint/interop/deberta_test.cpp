// DeBERTa against transformers (tools/golden_deberta.py): losses, gradients, predictions and
// folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/onnx_model.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "model/tasks/bert_task.h"
#include "model/tasks/classify_task.h"
#include "runs/golden_deberta.h"
#include "runs/probe.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::checkpoint {
namespace {

using testing::HasSubstr;

class Deberta : public testing::TestWithParam<const char*> {
 protected:
  // Saves the golden weights as a smelt checkpoint and exports them to "hf".
  void export_folder(const GoldenDeberta& golden) const {
    golden.export_folder(dir_.file("run"), dir_.file("hf"));
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, Deberta, testing::Values("words", "texts", "tokens", "spans"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Deberta, LossAndEveryGradientMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenDeberta golden(GetParam());
  const StoredModel model = golden.stored(dir_.file("given"), "param"),
                    want = golden.stored(dir_.file("gradients"), "grad");
  const model::Task task = golden.task(model::parse_encoder("deberta", model.config, "golden"));
  for (const model::Layers layers : {model::Layers::unrolled, model::Layers::scan}) {
    if (layers == model::Layers::scan && golden.is_classifier()) continue;
    model::TrainingConfig config;
    config.batch_size = 3;
    config.compute.layers = layers;
    const auto loaded = load_into_memory(model.tensors);
    const auto [loss, gradients] =
        step_gradients(client, task, config, golden.batch(task.features), loaded.tensors);
    EXPECT_NEAR(loss, golden.loss(), kLossTolerance * golden.loss());
    EXPECT_EQ(gradients.size(), want.tensors.size());
    for (const auto& [name, gradient] : gradients) {
      ASSERT_TRUE(want.tensors.contains(name)) << name;
      const auto [difference, size] = distance(gradient, read_values<float>(want.tensors.at(name)));
      EXPECT_LE(difference, kGradientTolerance * size + 1e-7) << name;
    }
  }
}

TEST_P(Deberta, AnExportedFolderHasTheBytesOfTheImportedOne) {
  const GoldenDeberta golden(GetParam());
  export_folder(golden);
  const io::SafetensorsFile made(io::read_file(dir_.file("hf/model.safetensors")), "made");
  const io::TensorMap want = golden.tensors("param");
  EXPECT_EQ(made.tensors().size(), want.size());
  for (const auto& [name, view] : want)
    EXPECT_TRUE(std::ranges::equal(made.at(name).data, view.data)) << name;
  const Json config = Json::parse(io::read_file(dir_.file("hf/config.json"))),
             given = golden.config();
  for (const auto& [field, value] : given.items())
    if (field != "hidden_dropout_prob") {
      EXPECT_EQ(config.value(field, Json()), value) << field;
    }
  EXPECT_EQ(config["legacy"], true);
  const Json tokenizer = Json::parse(io::read_file(dir_.file("hf/tokenizer_config.json")));
  EXPECT_EQ(tokenizer["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(tokenizer["mask_token"], "[MASK]");
  EXPECT_EQ(tokenizer["model_input_names"], Json({"input_ids", "attention_mask"}));
  const StoredModel again = open_stored_model(dir_.file("hf"), "test");
  EXPECT_EQ(model_type_of(again.tensors), golden.is_classifier() ? "classify" : "deberta");
  EXPECT_EQ(again.config, open_stored_model(dir_.file("given"), "test").config);
  EXPECT_TRUE(again.skipped.empty());
}

TEST_P(Deberta, OnnxFileComputesTheSameScores) {
  REQUIRE_ORACLE();
  const GoldenDeberta golden(GetParam());
  export_folder(golden);
  write_onnx_model(dir_.file("hf"), dir_.file("model.onnx"));
  io::write_file(dir_.file("in"), io::safetensors_bytes(golden.inputs()));
  const auto run = run_oracle(str(source_path("tools/check_onnx.py"), " ", dir_.file("model.onnx"),
                                  " --inputs ", dir_.file("in"), " --outputs ", dir_.file("out")));
  ASSERT_EQ(run.status, 0) << run.text;
  const io::SafetensorsFile out(io::read_file(dir_.file("out")), "out");
  const auto got = io::tensor_values<float>(out.at("class_logits")), want = golden.values("scores");
  const auto mask = io::tensor_values<std::int32_t>(golden.inputs().at("input_mask"));
  ASSERT_EQ(got.size(), want.size());
  const bool of_texts = std::string(GetParam()) == "texts";
  const std::size_t columns = of_texts ? 1 : got.size() / mask.size();
  for (std::size_t i = 0; i < got.size(); ++i)
    if (of_texts || mask[i / columns] == 1) {
      EXPECT_NEAR(got[i], want[i], 1e-5) << i;
    }
}

TEST(DebertaFillMask, ProbabilitiesOfTheBestWordsAreThoseOfTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const TempDir dir;
  const GoldenDeberta golden("words");
  const StoredModel model = golden.stored(dir.file("given"), "param");
  model::Prediction guesses = model::mask_guesses(
      model::parse_encoder("deberta", model.config, "golden"), GoldenDeberta::kLength, 2, 1);
  guesses.outputs = [all = guesses.outputs](const model::Scope& root, const model::Inputs& in) {
    return std::vector<compiler::Tensor>{all(root, in)[0]};  // the probabilities
  };
  const data::Batch batch = golden.batch(guesses.features);
  const auto loaded = load_into_memory(model.tensors);
  const Probe got = probe(client, guesses, batch, loaded.tensors);
  const auto scores = golden.values("scores");
  const std::vector<std::size_t> at{1, 12, 2, 0, 1, 5};  // the golden masked positions; 0: none
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] == 0) continue;
    const std::span words = std::span(scores).subspan(
        (i / 2 * GoldenDeberta::kLength + at[i]) * GoldenDeberta::kVocab, GoldenDeberta::kVocab);
    const float best = *std::ranges::max_element(words);
    double sum = 0;
    for (const float score : words) sum += std::exp(static_cast<double>(score - best));
    EXPECT_NEAR(got.results[0][i], 1 / sum, 1e-5) << i;
  }
}

// Writes a folder of the golden masked LM with changes to its config.json, and opens it.
StoredModel opened_deberta(const TempDir& dir, const Json& changes, const io::TensorMap& tensors) {
  Json config = GoldenDeberta("words").config();
  config.update(changes);
  GoldenDeberta("words").write(dir.file("folder"), tensors, config);
  return open_stored_model(dir.file("folder"), "test");
}

TEST(DebertaFolder, OfTheEncoderAloneMayLeaveOutThePrefix) {
  const TempDir dir;
  const GoldenDeberta golden("words");
  io::TensorMap encoder;
  for (const auto& [name, view] : golden.tensors("param"))
    if (name.starts_with("deberta.")) encoder[name.substr(8)] = view;
  const StoredModel model = opened_deberta(dir, {{"architectures", {"DebertaV2Model"}}}, encoder);
  EXPECT_EQ(model.tensors.size(), encoder.size());
  EXPECT_TRUE(model.tensors.contains("deberta/encoder/rel_embeddings"));
}

// Returns the parameters of the golden masked LM with the names of its head in Microsoft's
// checkpoints.
io::TensorMap microsoft_tensors(const GoldenDeberta& golden) {
  io::TensorMap out;
  for (const auto& [name, view] : golden.tensors("param")) {
    std::string there = name;
    for (const auto& [from, to] :
         {std::pair{"cls.predictions.transform.", "lm_predictions.lm_head."},
          {"cls.predictions.", "lm_predictions.lm_head."}})
      if (there.starts_with(from)) there = to + there.substr(std::string_view(from).size());
    out[there] = view;
  }
  return out;
}

TEST(DebertaFolder, ReadsTheHeadOfMicrosoftsCheckpointsIfLegacyIsFalse) {
  const TempDir dir;
  const GoldenDeberta golden("words");
  const io::TensorMap tensors = microsoft_tensors(golden);
  const StoredModel model = opened_deberta(dir, {{"legacy", false}}, tensors);
  EXPECT_EQ(model.tensors.size(), tensors.size());
  EXPECT_TRUE(model.tensors.contains("lm_head/output_bias"));
  const StoredModel other = opened_deberta(dir, {{"legacy", nullptr}}, tensors);
  EXPECT_FALSE(other.tensors.contains("lm_head/output_bias"));
  EXPECT_EQ(other.skipped.size(), 5);
}

std::string deberta_refusal(const Json& changes) {
  const TempDir dir;
  return error_of<UsageError>(
      [&] { opened_deberta(dir, changes, GoldenDeberta("words").tensors("param")); });
}

TEST(DebertaFolder, ThatSmeltCannotComputeIsRefused) {
  EXPECT_EQ(deberta_refusal({{"pos_att_type", "c2p|p2c"}}), "no error");
  EXPECT_THAT(deberta_refusal({{"relative_attention", false}}),
              HasSubstr("config.json: relative_attention is false, must be true\n"
                        "  hint: take a model in the form of microsoft/deberta-v3-base"));
  EXPECT_THAT(deberta_refusal({{"conv_kernel_size", 3}}),
              HasSubstr("config.json: conv_kernel_size is 3: the convolution of "
                        "DeBERTa-v2-xlarge and xxlarge is not supported\n"
                        "  hint: take a DeBERTa-v3, which has no convolution"));
  EXPECT_THAT(deberta_refusal({{"type_vocab_size", 2}}),
              HasSubstr("config.json: type_vocab_size is 2, must be 0\n  hint: take a model"));
  EXPECT_THAT(deberta_refusal({{"pooler_hidden_size", 8}}),
              HasSubstr("config.json: pooler_hidden_size is 8, must be 16"));
  EXPECT_THAT(deberta_refusal({{"attention_head_size", 4}}),
              HasSubstr("config.json: attention_head_size is 4, must be 8"));
  EXPECT_THAT(deberta_refusal({{"pos_att_type", nullptr}}),
              HasSubstr("config.json: pos_att_type is '', must be p2c|c2p, c2p or p2c"));
  EXPECT_THAT(deberta_refusal({{"hidden_act", "silu"}}),
              HasSubstr("hidden_act is 'silu', must be one of linear, relu, gelu, tanh"));
}

}  // namespace
}  // namespace smelt::checkpoint
