#include "checkpoint/interop/hugging_face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/interop/folder_weights.h"
#include "checkpoint/interop/model_folder.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/stored_model.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/largest_difference.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::string vocab_of(int words) {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\nhello\n";
  for (int i = 8; i < words; ++i) text += str("word", i, "\n");
  return text;
}

// The tiny BERT of tests/golden.
class HuggingFace : public testing::Test {
 protected:
  HuggingFace()
      : golden_(io::read_file(source_path("tests/golden/bert_tiny.safetensors")), "bert_tiny"),
        record_(Json::parse(io::read_file(source_path("tests/golden/bert_tiny.json")))) {
    bert_.config = record_["config"];
    bert_.vocab_txt = vocab_of(99);
    for (const auto& [name, tensor] : golden_.tensors())
      if (name.starts_with("param/")) bert_.parameters.emplace(name.substr(6), tensor);
  }

  std::string refusal(const std::string& folder) const {
    try {
      export_hugging_face(folder, bert_);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  }

  io::SafetensorsFile golden_;
  Json record_;
  HuggingFaceBert bert_;
  TempDir dir_;
};

std::string import_refusal(const std::string& folder) {
  try {
    import_hugging_face(folder);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

double difference(const io::TensorView& a, const io::TensorView& b) {
  EXPECT_EQ(a.shape, b.shape);
  return largest_difference(io::tensor_values<float>(a), io::tensor_values<float>(b));
}

TEST_F(HuggingFace, WritesTheFilesThatTransformersReads) {
  export_hugging_face(dir_.file("hf"), bert_);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir_.file("hf")))
    names.push_back(entry.path().filename());
  EXPECT_THAT(
      names, UnorderedElementsAre("config.json", "model.safetensors", "vocab.txt", "tokenizer.json",
                                  "tokenizer_config.json", "special_tokens_map.json"));
  const Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  EXPECT_EQ(config["architectures"], Json::array({"BertForPreTraining"}));
  EXPECT_EQ(config["model_type"], "bert");
  EXPECT_EQ(config["hidden_act"], "gelu_new");
  EXPECT_EQ(config["layer_norm_eps"], 1e-12);
  EXPECT_EQ(config["pad_token_id"], 0);
  EXPECT_EQ(config["num_hidden_layers"], 2);
  EXPECT_EQ(config["vocab_size"], 99);
  const Json tokenizer = Json::parse(io::read_file(dir_.file("hf/tokenizer_config.json")));
  EXPECT_EQ(tokenizer["tokenizer_class"], "BertTokenizer");
  EXPECT_EQ(tokenizer["do_lower_case"], true);
  EXPECT_EQ(tokenizer["model_max_length"], 40);
  EXPECT_EQ(io::read_file(dir_.file("hf/vocab.txt")), bert_.vocab_txt);
}

TEST_F(HuggingFace, StoresKernelsTransposedAndTheTiedTableOnce) {
  export_hugging_face(dir_.file("hf"), bert_);
  const io::SafetensorsFile file(io::read_file(dir_.file("hf/model.safetensors")), "model");
  EXPECT_EQ(file.tensors().size(), bert_.parameters.size());
  EXPECT_EQ(file.metadata(), (io::Metadata{{"format", "pt"}}));
  const auto& kernel = bert_.parameters.at("bert/encoder/layer_1/intermediate/dense/kernel");
  const auto& weight = file.at("bert.encoder.layer.1.intermediate.dense.weight");
  ASSERT_EQ(kernel.shape.dims, (compiler::Dims{32, 64}));
  ASSERT_EQ(weight.shape.dims, (compiler::Dims{64, 32}));
  EXPECT_EQ(io::tensor_values<float>(kernel)[3 * 64 + 5],
            io::tensor_values<float>(weight)[5 * 32 + 3]);
  EXPECT_EQ(file.at("cls.seq_relationship.weight").shape.dims, (compiler::Dims{2, 32}));
  EXPECT_EQ(file.tensors().count("cls.predictions.decoder.weight"), 0);
}

TEST_F(HuggingFace, TransformersComputesTheSameLogits) {
  REQUIRE_ORACLE();
  export_hugging_face(dir_.file("hf"), bert_);
  io::TensorMap inputs;
  for (const char* name : {"input_ids", "input_mask", "segment_ids", "masked_lm_positions"})
    inputs.emplace(name, golden_.at(str("input/0/", name)));
  io::write_file(dir_.file("in"), io::safetensors_bytes(inputs));
  const auto result = run_oracle(str(source_path("tools/check_hf_folder.py"), " ", dir_.file("hf"),
                                     " --inputs ", dir_.file("in"), " --outputs ", dir_.file("out"),
                                     " --text 'Hello, H\u00c9LLO unable [MASK] word9'"));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("all weights loaded: 46\n"));
  EXPECT_THAT(result.text, HasSubstr("tokens hello [UNK] hello un ##able [MASK] word9\n"));
  EXPECT_THAT(result.text, HasSubstr("ids 2 7 1 7 5 6 4 9 3\n"));
  EXPECT_THAT(result.text, HasSubstr("model_max_length 40\n"));
  const io::SafetensorsFile out(io::read_file(dir_.file("out")), "out");
  for (const char* name : {"mlm_logits", "nsp_logits"})
    EXPECT_LT(difference(out.at(name), golden_.at(str("output/", name))), 1e-5) << name;
}

TEST_F(HuggingFace, ImportReturnsWhatWasExported) {
  bert_.tokenizer = {
      .lower_case = false, .strip_accents = true, .control = text::ControlCharacters::electra};
  export_hugging_face(dir_.file("hf"), bert_);
  const HuggingFaceBert back = import_hugging_face(dir_.file("hf"));
  EXPECT_EQ(back.config, bert_.config);
  EXPECT_EQ(back.vocab_txt, bert_.vocab_txt);
  EXPECT_EQ(back.tokenizer, bert_.tokenizer);
  ASSERT_EQ(back.parameters.size(), bert_.parameters.size());
  for (const auto& [name, tensor] : bert_.parameters)
    EXPECT_EQ(difference(back.parameters.at(name), tensor), 0) << name;
}

TEST_F(HuggingFace, ReadsOldNamesOfLayerNorm) {
  export_hugging_face(dir_.file("hf"), bert_);
  const io::SafetensorsFile file(io::read_file(dir_.file("hf/model.safetensors")), "model");
  io::TensorMap old;
  for (const auto& [name, tensor] : file.tensors()) {
    std::string key = name;
    if (const auto at = key.find("LayerNorm.weight"); at != key.npos)
      key.replace(at + 10, 6, "gamma");
    if (const auto at = key.find("LayerNorm.bias"); at != key.npos) key.replace(at + 10, 4, "beta");
    old.emplace(key, tensor);
  }
  io::write_file(dir_.file("hf/model.safetensors"), io::safetensors_bytes(old));
  const auto back = import_hugging_face(dir_.file("hf"));
  const char* name = "bert/encoder/layer_0/output/LayerNorm/gamma";
  EXPECT_EQ(difference(back.parameters.at(name), bert_.parameters.at(name)), 0);
}

TEST_F(HuggingFace, ReplacesErfGeluWithAWarning) {
  export_hugging_face(dir_.file("hf"), bert_);
  Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  config["hidden_act"] = "gelu";
  io::write_file(dir_.file("hf/config.json"), config.dump());
  {
    const CapturedLog none;
    const auto as_written = BertGelu::as_written;
    EXPECT_EQ(load_weights(dir_.file("hf"), as_written).model["hidden_act"], "gelu_erf");
    EXPECT_EQ(open_stored_model(dir_.file("hf"), "test", false, as_written).config["hidden_act"],
              "gelu_erf");
    EXPECT_EQ(none.text(), "");
  }
  const CapturedLog log;
  EXPECT_EQ(load_weights(dir_.file("hf")).model["hidden_act"], "gelu");
  EXPECT_EQ(import_hugging_face(dir_.file("hf")).config["hidden_act"], "gelu");
  EXPECT_THAT(log.text(), HasSubstr("gelu (erf) is replaced by BERT's tanh approximation of gelu"));
  {
    const CapturedLog again;
    (void)import_hugging_face(dir_.file("hf"));
    EXPECT_EQ(again.text(), "");
  }
  config["hidden_act"] = "gelu_python";
  io::write_file(dir_.file("hf/config.json"), config.dump());
  EXPECT_EQ(import_hugging_face(dir_.file("hf")).config["hidden_act"], "gelu");
  EXPECT_THAT(log.text(),
              HasSubstr("gelu_python (erf) is replaced by BERT's tanh approximation of gelu"));
}

TEST_F(HuggingFace, RejectsOtherActivationsAndCausalModels) {
  export_hugging_face(dir_.file("hf"), bert_);
  Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  for (const char* name : {"silu", "gelu_10"}) {
    config["hidden_act"] = name;
    io::write_file(dir_.file("hf/config.json"), config.dump());
    EXPECT_THAT(import_refusal(dir_.file("hf")),
                HasSubstr(str(
                    "config.json: hidden_act is '", name,
                    "', must be one of linear, relu, gelu, tanh, gelu_erf\n  hint: use a model")));
  }
  config["hidden_act"] = "gelu_new";
  config["is_decoder"] = true;
  io::write_file(dir_.file("hf/config.json"), config.dump());
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("config.json: is_decoder is true: causal"));
}

TEST_F(HuggingFace, ReportsHowToConvertOtherWeightFormats) {
  export_hugging_face(dir_.file("hf"), bert_);
  const std::string weights = dir_.file("hf/model.safetensors"), bytes = io::read_file(weights);
  std::filesystem::remove(weights);
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("hf: has no weights: expected model.safetensors or flax_model.msgpack\n"
                        "  hint: download or copy the weights into this folder"));
  io::write_file(dir_.file("hf/pytorch_model.bin"), "version https://git-lfs.github.com/spec/v1");
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("pytorch_model.bin: is a Git LFS pointer, not the file itself"));
  io::write_file(dir_.file("hf/pytorch_model.bin"), "PK");
  EXPECT_THAT(
      import_refusal(dir_.file("hf")),
      HasSubstr(str("hf: cannot read pytorch_model.bin (pickled PyTorch weights): "
                    "expected model.safetensors or flax_model.msgpack\n  hint: convert them "
                    "with transformers: BertForPreTraining.from_pretrained('",
                    dir_.file("hf"),
                    "').save_pretrained('NEW'), then copy the tokenizer's files to NEW")));
  std::filesystem::rename(dir_.file("hf/pytorch_model.bin"), dir_.file("hf/tf_model.h5"));
  EXPECT_THAT(
      import_refusal(dir_.file("hf")),
      AllOf(HasSubstr("tf_model.h5 (TensorFlow weights)"),
            HasSubstr("with transformers 4: BertForPreTraining"), HasSubstr("from_tf=True")));
  const std::string config = io::read_file(dir_.file("hf/config.json"));
  std::filesystem::remove(dir_.file("hf/config.json"));
  EXPECT_THAT(error_of<UsageError>([&] { weights_path(dir_.file("hf")); }),
              HasSubstr("with transformers 4: AutoModelForPreTraining.from_pretrained('"));
  io::write_file(dir_.file("hf/config.json"), config);
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:01\nsize 9\n";
  io::write_file(weights, pointer);
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("model.safetensors: is a Git LFS pointer, not the file itself"));
  std::filesystem::remove(weights);
  io::write_file(dir_.file("hf/flax_model.msgpack"), pointer);
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("flax_model.msgpack: is a Git LFS pointer, not the file itself"));
  io::write_file(weights, bytes);
  import_hugging_face(dir_.file("hf"));
  io::write_file(dir_.file("hf/tokenizer.json"), pointer);
  EXPECT_THAT(import_refusal(dir_.file("hf")), HasSubstr("tokenizer.json: is a Git LFS pointer"));
}

// Like transformers. A smaller model may have been saved over one with several files and an index.
TEST_F(HuggingFace, PrefersOneFileOverAnIndex) {
  export_hugging_face(dir_.file("hf"), bert_);
  io::write_file(dir_.file("hf/model.safetensors.index.json"), R"({"weight_map": {"x": "gone"}})");
  const CapturedLog log;
  import_hugging_face(dir_.file("hf"));
  EXPECT_THAT(log.text(), HasSubstr("has both model.safetensors and model.safetensors.index.json"));
}

TEST_F(HuggingFace, RejectsRelativePositionsAndWarnsOfAnotherEpsilon) {
  export_hugging_face(dir_.file("hf"), bert_);
  Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  config["layer_norm_eps"] = 1e-5;
  io::write_file(dir_.file("hf/config.json"), config.dump());
  const CapturedLog log;
  EXPECT_EQ(import_hugging_face(dir_.file("hf")).config["hidden_size"], 32);
  EXPECT_THAT(log.text(),
              HasSubstr("hf/config.json: layer_norm_eps 1e-05 is not supported; using 1e-12"));
  config["position_embedding_type"] = "relative_key";
  io::write_file(dir_.file("hf/config.json"), config.dump());
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("position_embedding_type is 'relative_key', not 'absolute'\n  hint: use a "
                        "model with absolute positions"));
}

TEST_F(HuggingFace, RejectsUntiedOutputEmbeddings) {
  export_hugging_face(dir_.file("hf"), bert_);
  Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  config["tie_word_embeddings"] = false;
  io::write_file(dir_.file("hf/config.json"), config.dump());
  import_hugging_face(dir_.file("hf"));  // has no output embedding of its own
  const io::SafetensorsFile file(io::read_file(dir_.file("hf/model.safetensors")), "model");
  io::TensorMap tensors = file.tensors();
  tensors["cls.predictions.decoder.weight"] = tensors.at("bert.embeddings.word_embeddings.weight");
  io::write_file(dir_.file("hf/model.safetensors"), io::safetensors_bytes(tensors));
  EXPECT_THAT(
      import_refusal(dir_.file("hf")),
      HasSubstr("hf: tie_word_embeddings is false and cls.predictions.decoder.weight exists"));
}

TEST_F(HuggingFace, AcceptsACheckpointWithSlots) {
  const io::TensorView slot = bert_.parameters.at("bert/pooler/dense/bias");
  bert_.parameters.emplace("bert/pooler/dense/bias/adam_m", slot);
  export_hugging_face(dir_.file("hf"), bert_);
  const io::SafetensorsFile file(io::read_file(dir_.file("hf/model.safetensors")), "model");
  EXPECT_EQ(file.tensors().size(), 46);
}

TEST_F(HuggingFace, ReportsAMissingParameter) {
  const auto node = bert_.parameters.extract("bert/pooler/dense/bias");
  EXPECT_THAT(refusal(dir_.file("hf")), HasSubstr("export: no tensor 'bert/pooler/dense/bias'"));
  EXPECT_FALSE(fs::exists(dir_.file("hf")));
}

TEST_F(HuggingFace, RejectsAnotherShapeWithBothShapes) {
  bert_.config["intermediate_size"] = 128;
  EXPECT_THAT(refusal(dir_.file("hf")),
              HasSubstr("'bert/encoder/layer_0/intermediate/dense/kernel' is f32[32,64], the "
                        "config expects f32[32,128]"));
}

TEST_F(HuggingFace, RejectsAMismatchedVocabulary) {
  bert_.vocab_txt = vocab_of(100);
  EXPECT_THAT(refusal(dir_.file("hf")),
              HasSubstr("vocab.txt: 100 tokens exceed the config's vocab_size 99"));
  bert_.vocab_txt = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\n";
  EXPECT_THAT(refusal(dir_.file("hf")), HasSubstr("vocab.txt: no [MASK]"));
}

TEST_F(HuggingFace, RejectsAnInvalidConfig) {
  bert_.config["hidden_act"] = 3;
  EXPECT_THAT(refusal(dir_.file("hf")),
              HasSubstr("BERT config: hidden_act is 3, must be a string"));
  bert_.config["hidden_size"] = "32";
  EXPECT_THAT(refusal(dir_.file("hf")),
              HasSubstr("BERT config: hidden_size is \"32\", must be at least 1"));
  bert_.config.erase("vocab_size");
  bert_.config["hidden_size"] = 32;
  EXPECT_THAT(refusal(dir_.file("hf")), HasSubstr("BERT config: vocab_size is missing"));
}

TEST_F(HuggingFace, DoesNotOverwriteOtherFolders) {
  io::write_file(dir_.file("hf/notes.txt"), "mine");
  EXPECT_THAT(refusal(dir_.file("hf")), HasSubstr("hf exists and is not empty"));
  EXPECT_EQ(io::read_file(dir_.file("hf/notes.txt")), "mine");
}

TEST_F(HuggingFace, RejectsAFolderThatIsNotABert) {
  EXPECT_THAT(import_refusal(dir_.file("none")), HasSubstr("none/config.json: No such file"));
  export_hugging_face(dir_.file("hf"), bert_);
  Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  config["model_type"] = "gpt2";
  io::write_file(dir_.file("hf/config.json"), config.dump());
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("config.json: model_type 'gpt2' (BertForPreTraining) is not supported\n  "
                        "hint: use a model whose "
                        "model_type is bert, electra, t5, mt5, roberta, xlm-roberta, camembert, "
                        "modernbert or deberta-v2"));
  config["model_type"] = "bert";
  config["auto_map"] = {{"AutoModel", "own.Model"}};
  io::write_file(dir_.file("hf/config.json"), config.dump());
  const CapturedLog log;
  import_hugging_face(dir_.file("hf"));
  EXPECT_THAT(log.text(), HasSubstr("hf/config.json: auto_map names code of the model's own, which "
                                    "smelt does not run: it computes the bert of transformers"));
  config.erase("max_position_embeddings");
  io::write_file(dir_.file("hf/config.json"), config.dump());
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("hf/config.json: max_position_embeddings is missing, which transformers "
                        "writes for a BERT\n  hint: use a model of transformers' own classes"));
  io::write_file(dir_.file("hf/config.json"), "{");
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("config.json: model_type is missing\n  hint: use a model whose"));
  io::write_file(dir_.file("hf/config.json"), "version https://git-lfs.github.com/spec/v1\noid");
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("hf/config.json: is a Git LFS pointer, not the file itself"));
}

TEST_F(HuggingFace, InfersModelTypeFromClassOrFields) {
  export_hugging_face(dir_.file("hf"), bert_);
  const auto type_without = [&](const char* classes, const char* left_out) {
    Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
    config.erase("model_type");
    config.erase("architectures");
    if (*classes != 0) config["architectures"] = Json::array({classes});
    config.erase(left_out);
    io::write_file(dir_.file("old/config.json"), config.dump());
    return read_model_config(dir_.file("old")).value("model_type", "");
  };
  EXPECT_EQ(type_without("BertForMaskedLM", ""), "bert");
  EXPECT_EQ(type_without("", ""), "bert");
  EXPECT_EQ(type_without("", "type_vocab_size"), "");
  EXPECT_EQ(type_without("RobertaForMaskedLM", ""), "");
  io::write_file(dir_.file("t5/config.json"), R"({"d_model": 8, "d_kv": 4, "d_ff": 16})");
  EXPECT_EQ(read_model_config(dir_.file("t5")).value("model_type", ""), "t5");
}

TEST_F(HuggingFace, RejectsAModelWithoutPretrainingHeads) {
  export_hugging_face(dir_.file("hf"), bert_);
  const io::SafetensorsFile file(io::read_file(dir_.file("hf/model.safetensors")), "model");
  io::TensorMap tensors = file.tensors();
  tensors.erase("cls.seq_relationship.weight");
  io::write_file(dir_.file("hf/model.safetensors"), io::safetensors_bytes(tensors));
  EXPECT_THAT(import_refusal(dir_.file("hf")),
              HasSubstr("model.safetensors: no tensor 'cls.seq_relationship.weight'"));
  io::TensorMap renamed;
  for (auto& [name, tensor] : tensors) renamed[name + ":0"] = tensor;
  io::write_file(dir_.file("hf/model.safetensors"), io::safetensors_bytes(renamed));
  EXPECT_THAT(import_refusal(dir_.file("hf")), HasSubstr(":0', which are TensorFlow's"));
}

}  // namespace
}  // namespace smelt::checkpoint
