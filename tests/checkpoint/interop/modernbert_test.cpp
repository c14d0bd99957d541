// ModernBERT against transformers (tools/golden_modernbert.py): losses, gradients, predictions and
// folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/onnx_model.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "model/tasks/bert_task.h"
#include "model/tasks/classify_task.h"
#include "runs/golden_modernbert.h"
#include "runs/probe.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> bytes_of(const io::TensorView& view) {
  return {view.data.begin(), view.data.end()};
}

class Modernbert : public testing::TestWithParam<const char*> {
 protected:
  // Saves the golden weights as a smelt checkpoint and exports them to "hf".
  void export_folder(const GoldenModernbert& golden) const {
    golden.export_folder(dir_.file("run"), dir_.file("hf"));
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, Modernbert, testing::Values("words", "texts", "tokens", "spans"),
                         [](const auto& info) { return std::string(info.param); });

// In a scan, a layer chooses global or local attention by its layer number, which is not known when
// the graph is built.
TEST_P(Modernbert, LossAndEveryGradientMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenModernbert golden(GetParam());
  const StoredModel model = golden.stored(dir_.file("given"), "param"),
                    want = golden.stored(dir_.file("gradients"), "grad");
  const model::Task task = golden.task(model::parse_encoder("modernbert", model.config, "golden"));
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

TEST_P(Modernbert, AnExportedFolderHasTheBytesOfTheImportedOne) {
  const GoldenModernbert golden(GetParam());
  export_folder(golden);
  const io::SafetensorsFile made(io::read_file(dir_.file("hf/model.safetensors")), "made");
  const io::TensorMap want = golden.tensors("param");
  EXPECT_EQ(made.tensors().size(), want.size());
  for (const auto& [name, view] : want) EXPECT_EQ(bytes_of(made.at(name)), bytes_of(view)) << name;
  const Json config = Json::parse(io::read_file(dir_.file("hf/config.json"))),
             given = golden.config();
  for (const char* field : {"architectures", "layer_types", "rope_parameters", "cls_token_id",
                            "eos_token_id", "pad_token_id", "classifier_pooling", "norm_eps"})
    EXPECT_EQ(config[field], given[field]) << field;
  EXPECT_EQ(config["global_attn_every_n_layers"], 3);
  EXPECT_EQ(config["local_rope_theta"], 10.0);
  const Json tokenizer = Json::parse(io::read_file(dir_.file("hf/tokenizer_config.json")));
  EXPECT_EQ(tokenizer["model_input_names"], Json({"input_ids", "attention_mask"}));
  const StoredModel again = open_stored_model(dir_.file("hf"), "test");
  EXPECT_EQ(model_type_of(again.tensors), golden.is_classifier() ? "classify" : "modernbert");
  EXPECT_EQ(again.config, open_stored_model(dir_.file("given"), "test").config);
  EXPECT_TRUE(again.skipped.empty());
}

TEST_P(Modernbert, OnnxFileComputesTheSameScores) {
  REQUIRE_ORACLE();
  const GoldenModernbert golden(GetParam());
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

TEST(ModernbertFillMask, ProbabilitiesOfTheBestWordsAreThoseOfTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const TempDir dir;
  const GoldenModernbert golden("words");
  const StoredModel model = golden.stored(dir.file("given"), "param");
  model::Prediction guesses = model::mask_guesses(
      model::parse_encoder("modernbert", model.config, "golden"), GoldenModernbert::kLength, 2, 1);
  guesses.outputs = [all = guesses.outputs](const model::Scope& root, const model::Inputs& in) {
    return std::vector<compiler::Tensor>{all(root, in)[0]};  // the probabilities
  };
  const data::Batch batch = golden.batch(guesses.features);
  const auto loaded = load_into_memory(model.tensors);
  const Probe got = probe(client, guesses, batch, loaded.tensors);
  const auto scores = golden.values("scores");
  const std::vector<std::size_t> at{1, 8, 2, 0, 1, 5};  // the golden masked positions; 0: none
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] == 0) continue;
    const std::span words = std::span(scores).subspan(
        (i / 2 * GoldenModernbert::kLength + at[i]) * GoldenModernbert::kVocab,
        GoldenModernbert::kVocab);
    const float best = *std::ranges::max_element(words);
    double sum = 0;
    for (const float score : words) sum += std::exp(static_cast<double>(score - best));
    EXPECT_NEAR(got.results[0][i], 1 / sum, 1e-5) << i;
  }
}

TEST(ModernbertFolder, OfTransformers4HasTheSameConfig) {
  const TempDir dir;
  const GoldenModernbert golden("words");
  Json old = golden.config();
  old.erase("layer_types");
  old.erase("rope_parameters");
  old["global_attn_every_n_layers"] = 3;
  old["global_rope_theta"] = 160.0;
  old["local_rope_theta"] = 10.0;
  golden.write(dir.file("old"), golden.tensors("param"), old);
  EXPECT_EQ(open_stored_model(dir.file("old"), "test").config,
            golden.stored(dir.file("new"), "param").config);
}

TEST(ModernbertFolder, OfTheEncoderAloneMayLeaveOutThePrefix) {
  const TempDir dir;
  const GoldenModernbert golden("words");
  io::TensorMap encoder;
  for (const auto& [name, view] : golden.tensors("param"))
    if (name.starts_with("model.")) encoder[name.substr(6)] = view;
  Json config = golden.config();
  config["architectures"] = {"ModernBertModel"};
  golden.write(dir.file("encoder"), encoder, config);
  const StoredModel model = open_stored_model(dir.file("encoder"), "test");
  EXPECT_EQ(model.tensors.size(), encoder.size());
  EXPECT_TRUE(model.tensors.contains("modernbert/encoder/layer_3/output/LayerNorm/gamma"));
}

std::string refusal_of(const Json& changes) {
  const TempDir dir;
  const GoldenModernbert golden("words");
  Json config = golden.config();
  config.update(changes);
  golden.write(dir.file("folder"), golden.tensors("param"), config);
  return error_of<UsageError>([&] { open_stored_model(dir.file("folder"), "test"); });
}

TEST(ModernbertFolder, ThatSmeltCannotComputeIsRefused) {
  EXPECT_THAT(refusal_of({{"mlp_bias", true}}),
              HasSubstr("config.json: mlp_bias is true, must be false\n"
                        "  hint: take a model in the form of answerdotai/ModernBERT-base"));
  EXPECT_THAT(refusal_of({{"layer_types",
                           {"full_attention", "sliding_attention", "full_attention",
                            "sliding_attention"}}}),
              testing::Not(HasSubstr("layer_types")));
  EXPECT_THAT(
      refusal_of({{"layer_types",
                   {"full_attention", "sliding_attention", "full_attention", "full_attention"}}}),
      HasSubstr("config.json: layer_types[3] is \"full_attention\", must be full_attention in "
                "layers 0, 2, 4, ... and in no other\n  hint: take a model whose layers alternate "
                "evenly"));
  EXPECT_THAT(refusal_of({{"rope_parameters", {{"full_attention", {{"rope_type", "yarn"}}}}}}),
              HasSubstr("config.json: rope_parameters.full_attention: rope_type is \"yarn\", must "
                        "be \"default\""));
  EXPECT_THAT(refusal_of({{"rope_scaling", {{"type", "linear"}}}}),
              HasSubstr("config.json: rope_scaling is {\"type\":\"linear\"}, must be null"));
  EXPECT_THAT(refusal_of({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 1e4}}}}),
              HasSubstr("config.json: rope_parameters: rope_type is \"default\", must be null"));
  EXPECT_THAT(
      refusal_of({{"hidden_activation", "silu"}}),
      HasSubstr(
          "config.json: hidden_activation is 'silu', must be one of linear, relu, gelu, tanh"));
}

// Writes a folder of the golden masked LM with changes to its config.json, and opens it.
StoredModel opened_with(const TempDir& dir, const Json& changes) {
  const GoldenModernbert golden("words");
  Json config = golden.config();
  config.update(changes);
  golden.write(dir.file("folder"), golden.tensors("param"), config);
  return open_stored_model(dir.file("folder"), "test");
}

TEST(ModernbertFolder, PrefersTheFieldsOfTransformers5) {
  const TempDir dir;
  const Json config =
      opened_with(dir, {{"global_rope_theta", 1e5},
                        {"local_rope_theta", nullptr},
                        {"rope_parameters",
                         {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 5e4}}}}}})
          .config;
  EXPECT_EQ(config.at("global_rope_theta"), 5e4);
  EXPECT_EQ(config.at("local_rope_theta"), 1e5) << "null: as the global layers";
}

TEST(ModernbertFolder, OnnxHeadOfWordsUsesGeluIfTheLayersUseRelu) {
  const TempDir dir;
  (void)opened_with(dir, {{"hidden_activation", "relu"}});
  write_onnx_model(dir.file("folder"), dir.file("model.onnx"));
  EXPECT_THAT(io::read_file(dir.file("model.onnx")), HasSubstr("Erf"));
}

model::Encoder tiny_encoder(const Json& changes) {
  Json config{{"vocab_size", 29}, {"hidden_size", 16}, {"num_attention_heads", 2}};
  config.update(changes);
  return model::parse_encoder("modernbert", config, "c");
}

TEST(ModernbertConfig, ValuesOutOfRangeAreRefused) {
  const auto refusal = [](const Json& changes) {
    return error_of<UsageError>([&] { tiny_encoder(changes); });
  };
  EXPECT_THAT(
      refusal({{"local_attention", 0}}),
      HasSubstr("c: local_attention is 0, must be at least 1\n  hint: set local_attention"));
  EXPECT_THAT(refusal({{"norm_eps", 0.0}}),
              HasSubstr("c: norm_eps is 0, must be a number above 0\n  hint: set norm_eps"));
  EXPECT_THAT(refusal({{"mlp_dropout", 1.0}}),
              HasSubstr("c: mlp_dropout is 1, must be in [0, 1)\n  hint: set mlp_dropout"));
  EXPECT_THAT(refusal({{"classifier_pooling", "max"}}),
              HasSubstr("c: classifier_pooling is 'max', must be mean or cls\n  hint: released"));
  EXPECT_THAT(refusal({{"hidden_activation", "gelu_"}}),
              HasSubstr("c: hidden_activation is 'gelu_'\n  hint: did you mean 'gelu'?"));
  EXPECT_THAT(refusal({{"num_attention_heads", 16}}),
              HasSubstr("c: heads are 1 wide (hidden_size 16 / num_attention_heads 16), must be "
                        "even\n  hint: choose num_attention_heads so that heads are 64 wide"));
}

TEST(ModernbertConfig, WeightsThatAddToTheResidualStreamBeginSmaller) {
  const model::Encoder encoder = tiny_encoder({{"num_hidden_layers", 2}, {"intermediate_size", 8}});
  compiler::Graph graph;
  model::Parameters parameters;
  const compiler::Tensor ids = graph.argument({compiler::DType::s32, {1, 6}});
  (void)encoder->sequence(model::Scope(graph, parameters),
                          {.input_ids = ids, .input_mask = ids, .segment_ids = ids});
  const auto stddev = [&](const std::string& name) {
    return parameters.find(str("modernbert/encoder/layer_1/", name, "/kernel"))->init.stddev;
  };
  EXPECT_EQ(stddev("attention/qkv"), 0.02);
  EXPECT_EQ(stddev("mlp/input/dense"), 0.02);
  EXPECT_EQ(stddev("attention/output/dense"), 0.01);
  EXPECT_EQ(stddev("mlp/output/dense"), 0.01);
}

}  // namespace
}  // namespace smelt::checkpoint
