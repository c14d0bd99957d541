// Bit-identical round trips of models between the formats of smelt, TensorFlow and Hugging Face.
#include "checkpoint/interop/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/largest_difference.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string vocabulary_of(std::int64_t words) {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (std::int64_t i = 5; i < words; ++i) text += str("word", i, "\n");
  return text;
}

std::map<std::string, std::vector<std::byte>> bytes_of(const io::LazyTensors& tensors) {
  std::map<std::string, std::vector<std::byte>> out;
  for (const auto& [name, tensor] : tensors) out.emplace(name, tensor.read());
  return out;
}

// The golden tiny BERT after ten steps, saved like a smelt run.
class Convert : public testing::Test {
 protected:
  Convert()
      : golden_(io::read_file(source_path("tests/golden/bert_tiny.safetensors")), "bert_tiny"),
        facts_(Json::parse(io::read_file(source_path("tests/golden/bert_tiny.json")))) {
    for (const auto& [name, tensor] : golden_.tensors()) {
      if (!name.starts_with("param/")) continue;
      tensors_.emplace(name.substr(6), tensor);
      tensors_.emplace(name.substr(6) + "/adam_m", tensor);
      tensors_.emplace(name.substr(6) + "/adam_v", tensor);
    }
    io::write_file(vocab(), vocabulary_of(99));
    save(tensors_);
  }
  void save(const io::TensorMap& tensors, std::int64_t step = 10) const {
    save_checkpoint(dir_.file("run/model"), step, tensors,
                    {{"task", "bert"},
                     {"model", facts_["config"]},
                     {"vocabulary_crc32c", io::crc32c(vocabulary_of(99))}});
  }
  Converted convert(const std::string& from, const std::string& to, ConvertJob job = {}) const {
    job.from = dir_.file(from);
    job.to = dir_.file(to);
    return convert_checkpoint(job);
  }
  std::string refusal_of(const std::string& from, const std::string& to,
                         const ConvertJob& job = {}) const {
    return error_of<UsageError>([&] { convert(from, to, job); });
  }
  StoredModel open(const std::string& name) const {
    return open_stored_model(dir_.file(name), "open");
  }
  io::LazyTensors parameters() const {
    io::LazyTensors out = lazy_tensors(tensors_);
    std::erase_if(out,
                  [](const auto& item) { return item.first.find("/adam_") != item.first.npos; });
    return out;
  }
  std::string vocab() const { return dir_.file("run/vocab.txt"); }
  static ConvertJob to(ModelForm form) { return {.form = form}; }

  io::SafetensorsFile golden_;
  Json facts_;
  io::TensorMap tensors_;
  TempDir dir_;
};

TEST_F(Convert, RoundTripThroughTensorflowIsBitIdentical) {
  const Converted out = convert("run/model", "tf/model.ckpt-10");
  EXPECT_EQ(out.parameters, 46u);
  EXPECT_EQ(out.slots, 92u);
  const TensorflowCheckpoint bundle(dir_.file("tf/model.ckpt-10"));
  EXPECT_EQ(bundle.entries().size(), 46u * 3 + 1);
  EXPECT_EQ(bundle.global_step(), 10);
  EXPECT_EQ(io::read_file(dir_.file("tf/vocab.txt")), vocabulary_of(99));
  convert("tf", "back", to(ModelForm::smelt));
  const Checkpoint back = load_checkpoint(dir_.file("back"), 10);
  EXPECT_EQ(bytes_of(lazy_tensors(back.tensors)), bytes_of(lazy_tensors(tensors_)));
  EXPECT_EQ(back.state["task"], "bert");
  EXPECT_EQ(back.state["model"], facts_["config"]);
  EXPECT_EQ(back.state["vocabulary_crc32c"], io::crc32c(vocabulary_of(99)));
  // Converting back gives the same TensorFlow files.
  convert("back", "tf2/model.ckpt-10");
  for (const char* suffix : {".index", ".data-00000-of-00001"})
    EXPECT_EQ(io::read_file(dir_.file(str("tf2/model.ckpt-10", suffix))),
              io::read_file(dir_.file(str("tf/model.ckpt-10", suffix))));
}

TEST_F(Convert, WithoutSlotsWritesOnlyParameters) {
  const Converted out = convert("run/model", "tf/bert_model.ckpt", {.slots = false});
  EXPECT_THAT(out.left_out, ElementsAre("92 optimizer slots and moving averages"));
  const TensorflowCheckpoint bundle(dir_.file("tf/bert_model.ckpt"));
  EXPECT_EQ(bundle.entries().size(), 46u);
  EXPECT_EQ(bytes_of(bundle.tensors()), bytes_of(parameters()));
}

TEST_F(Convert, DropsAveragesAndRunStateTogetherWithSlots) {
  const io::TensorMap plain = tensors_;
  const io::TensorView& some = plain.at("bert/pooler/dense/bias");
  io::TensorMap all = plain;
  all.emplace("ema/bert/pooler/dense/bias", some);
  all.emplace("run/losses", some);
  save(all);
  const Converted out = convert("run/model", "tf/model.ckpt-10");
  EXPECT_EQ(out.parameters, 46u);
  EXPECT_THAT(out.left_out, testing::IsEmpty());
  EXPECT_THAT(convert("run/model", "hf", to(ModelForm::hugging_face)).left_out,
              ElementsAre("94 optimizer slots and moving averages"));
  EXPECT_EQ(convert("tf", "copy", to(ModelForm::smelt)).parameters, 46u);
  EXPECT_EQ(bytes_of(lazy_tensors(load_checkpoint(dir_.file("copy"), 10).tensors)),
            bytes_of(lazy_tensors(all)));
}

TEST_F(Convert, RoundTripThroughHuggingFaceIsBitIdentical) {
  const Converted out = convert("run/model", "hf", to(ModelForm::hugging_face));
  EXPECT_THAT(out.left_out, ElementsAre("92 optimizer slots and moving averages"));
  EXPECT_EQ(bytes_of(open("hf").tensors), bytes_of(parameters()));
  convert("hf", "tf/bert_model.ckpt");
  EXPECT_EQ(bytes_of(open("tf").tensors), bytes_of(parameters()));
  EXPECT_EQ(Json::parse(io::read_file(dir_.file("tf/bert_config.json"))), facts_["config"]);
  convert("tf", "hf2", to(ModelForm::hugging_face));
  for (const char* name :
       {"model.safetensors", "config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json"})
    EXPECT_EQ(io::read_file(dir_.file(str("hf2/", name))),
              io::read_file(dir_.file(str("hf/", name))))
        << name;
}

TEST_F(Convert, ReadsTransformers5FolderAndWritesVocabTxt) {
  convert("run/model", "hf", to(ModelForm::hugging_face));
  fs::remove(dir_.file("hf/vocab.txt"));
  const StoredModel model = open("hf");
  EXPECT_EQ(model.vocab, dir_.file("hf/tokenizer.json"));
  EXPECT_EQ(model.vocab_txt, vocabulary_of(99));
  convert("hf", "back", to(ModelForm::smelt));
  EXPECT_EQ(io::read_file(dir_.file("back/vocab.txt")), vocabulary_of(99));
  fs::rename(dir_.file("hf/tokenizer.json"), dir_.file("tokenizer.json"));
  convert("hf", "tf/model.ckpt", {.vocab = dir_.file("tokenizer.json")});
  EXPECT_EQ(io::read_file(dir_.file("tf/vocab.txt")), vocabulary_of(99));
}

TEST_F(Convert, KeepsAddedTokensInAllFormats) {
  const std::string lines = vocabulary_of(96);
  io::write_file(dir_.file("added/vocab.txt"), lines);
  io::write_file(dir_.file("added/tokenizer_config.json"),
                 R"({"do_lower_case": false, "added_tokens_decoder": {
                   "96": {"content": "<ent>", "normalized": false, "special": true},
                   "97": {"content": "new york", "single_word": true, "rstrip": true}}})");
  io::write_file(dir_.file("added/added_tokens.json"), R"({"last": 98})");
  convert("run/model", "tf/model.ckpt", {.slots = false});
  fs::remove(dir_.file("tf/vocab.txt"));
  ConvertJob job = to(ModelForm::hugging_face);
  job.vocab = dir_.file("added/vocab.txt");
  convert("tf", "hf", job);
  const auto added = open("hf").tokenizer->added;
  ASSERT_EQ(added.size(), 3u);
  EXPECT_EQ(added[0],
            (text::AddedToken{.id = 96, .content = "<ent>", .normalized = false, .special = true}));
  EXPECT_EQ(added[1], (text::AddedToken{
                          .id = 97, .content = "new york", .single_word = true, .rstrip = true}));
  EXPECT_EQ(added[2].content, "last");
  convert("hf", "back", to(ModelForm::smelt));
  EXPECT_EQ(io::read_file(dir_.file("back/vocab.txt")), lines);
  convert("back", "hf2", to(ModelForm::hugging_face));
  for (const char* name : {"vocab.txt", "tokenizer.json", "tokenizer_config.json"})
    EXPECT_EQ(io::read_file(dir_.file(str("hf2/", name))),
              io::read_file(dir_.file(str("hf/", name))))
        << name;
  fs::remove(dir_.file("hf/vocab.txt"));
  EXPECT_EQ(open("hf").tokenizer->added, added);
  EXPECT_EQ(open("hf").vocab_txt, lines);
}

TEST_F(Convert, RejectsMoreTokensThanEmbeddingRows) {
  convert("run/model", "tf/model.ckpt", {.slots = false});
  io::write_file(dir_.file("tf/vocab.txt"), vocabulary_of(99) + "\n\n");
  convert("tf", "blank", to(ModelForm::smelt));
  io::write_file(dir_.file("tf/vocab.txt"), vocabulary_of(100));
  for (const ModelForm form : {ModelForm::smelt, ModelForm::hugging_face})
    EXPECT_THAT(refusal_of("tf", "more", to(form)),
                testing::AllOf(HasSubstr("tf/vocab.txt has 100 tokens, the model has 99 rows of "
                                         "embeddings (vocab_size)"),
                               HasSubstr("hint: use the vocabulary that the model was trained")));
  EXPECT_FALSE(fs::exists(dir_.file("more")));
}

TEST_F(Convert, InfersLowerCaseFromTheVocabulary) {
  convert("run/model", "tf/model.ckpt", {.slots = false});
  io::write_file(dir_.file("tf/vocab.txt"), vocabulary_of(97) + "\ud55c\n##\uad6d\n");
  convert("tf", "hf", to(ModelForm::hugging_face));
  const Json config = Json::parse(io::read_file(dir_.file("hf/tokenizer_config.json")));
  EXPECT_EQ(config["do_lower_case"], false) << "NFD would take Hangul apart";
}

TEST_F(Convert, SplitsLargeFoldersIntoFilesWithAnIndex) {
  ConvertJob job = to(ModelForm::hugging_face);
  job.shard_bytes = 40'000;
  convert("run/model", "hf", job);
  EXPECT_FALSE(fs::exists(dir_.file("hf/model.safetensors")));
  const Json index = Json::parse(io::read_file(dir_.file("hf/model.safetensors.index.json")));
  EXPECT_EQ(index["weight_map"].size(), 46u);
  std::uint64_t bytes = 0;
  for (const auto& [name, data] : bytes_of(parameters())) bytes += data.size();
  EXPECT_EQ(index["metadata"]["total_size"], bytes);
  const std::string first = index["weight_map"]["bert.embeddings.LayerNorm.bias"];
  EXPECT_THAT(first, testing::MatchesRegex("model-00001-of-0000[2-9].safetensors"));
  EXPECT_EQ(bytes_of(open("hf").tensors), bytes_of(parameters()));
  fs::remove(dir_.file("hf/" + first));
  EXPECT_THAT(refusal_of("hf", "x.ckpt"),
              HasSubstr(first + ": missing, but model.safetensors.index.json lists it"));
  io::write_file(dir_.file("hf/model.safetensors.index.json"), R"({"weight_map": {"a": "../b"}})");
  EXPECT_THAT(refusal_of("hf", "x.ckpt"), HasSubstr("lists ../b, which is outside its folder"));
  io::write_file(dir_.file("hf/model.safetensors.index.json"), "{}");
  EXPECT_THAT(refusal_of("hf", "x.ckpt"), HasSubstr("lists no files under weight_map"));
}

TEST_F(Convert, RoundsToNarrowTypesOnce) {
  for (const compiler::DType dtype : {compiler::DType::bf16, compiler::DType::f16}) {
    const std::string name{compiler::dtype_name(dtype)};
    ConvertJob job = to(ModelForm::hugging_face);
    job.dtype = dtype;
    convert("run/model", name + "-hf", job);
    job = {.dtype = dtype, .slots = false};
    convert("run/model", name + ".ckpt", job);
    io::LazyTensors rounded;
    for (const auto& [key, tensor] : parameters())
      rounded.emplace(key, as_dtype(as_dtype(tensor, dtype), compiler::DType::f32));
    EXPECT_EQ(bytes_of(open(name + "-hf").tensors), bytes_of(rounded));
    const io::LazyTensors bundle = open(name + ".ckpt").tensors;
    EXPECT_EQ(bundle.at("bert/pooler/dense/bias").shape.dtype, dtype);
    convert(name + ".ckpt", name + "-back", to(ModelForm::smelt));
    EXPECT_EQ(bytes_of(open(name + "-back").tensors), bytes_of(rounded));
  }
  const Json config = Json::parse(io::read_file(dir_.file("bf16-hf/config.json")));
  EXPECT_EQ(config["torch_dtype"], "bfloat16");
}

TEST_F(Convert, AcceptsModelWithoutHeads) {
  for (const auto& [without, class_name] :
       {std::pair{"cls/seq_relationship/", "BertForMaskedLM"}, {"cls/", "BertModel"}}) {
    std::erase_if(tensors_, [&](const auto& item) { return item.first.starts_with(without); });
    save(tensors_, 20);
    convert("run/model", class_name, to(ModelForm::hugging_face));
    const Json config = Json::parse(io::read_file(dir_.file(str(class_name, "/config.json"))));
    EXPECT_EQ(config["architectures"], Json::array({class_name}));
    EXPECT_EQ(bytes_of(open(class_name).tensors), bytes_of(parameters()));
  }
}

TEST_F(Convert, ReplacesWeightsByTheirAverages) {
  EXPECT_THAT(refusal_of("run/model", "a.ckpt", {.averages = true}),
              HasSubstr("checkpoint-10 has no moving averages"));
  const io::TensorView bias = tensors_.at("bert/pooler/dense/bias");
  const std::vector<float> mean(32, 0.5F);
  tensors_.emplace("ema/bert/pooler/dense/bias",
                   io::TensorView{bias.shape, std::as_bytes(std::span(mean))});
  save(tensors_, 20);
  convert("run/model", "kept.ckpt");
  convert("kept.ckpt", "back", to(ModelForm::smelt));
  EXPECT_EQ(bytes_of(open("back").tensors), bytes_of(lazy_tensors(tensors_)));
  convert("run/model", "a.ckpt", {.averages = true});
  io::LazyTensors averaged = parameters();
  averaged.at("bert/pooler/dense/bias") = averaged.extract("ema/bert/pooler/dense/bias").mapped();
  EXPECT_EQ(bytes_of(open("a.ckpt").tensors), bytes_of(averaged));
}

// transformers' BertModel saves its parameters without the prefix "bert.".
TEST_F(Convert, ReadsEncoderWithoutPrefix) {
  std::erase_if(tensors_, [&](const auto& item) { return item.first.starts_with("cls/"); });
  save(tensors_, 20);
  convert("run/model", "hf", to(ModelForm::hugging_face));
  const io::SafetensorsFile file(io::read_file(dir_.file("hf/model.safetensors")), "model");
  io::TensorMap bare;
  for (const auto& [name, tensor] : file.tensors()) bare.emplace(name.substr(5), tensor);
  std::vector<std::byte> ids(32);
  bare.emplace("embeddings.position_ids", io::TensorView{{compiler::DType::s64, {1, 4}}, ids});
  bare.emplace("extra.weight", io::TensorView{{compiler::DType::f32, {8}}, ids});
  io::write_file(dir_.file("hf/model.safetensors"), io::safetensors_bytes(bare));
  const StoredModel read = open("hf");
  EXPECT_EQ(bytes_of(read.tensors), bytes_of(parameters()));
  EXPECT_THAT(read.skipped, ElementsAre("bert.extra.weight"));
}

TEST_F(Convert, TransformersComputesTheSameLogitsFromATensorflowCheckpoint) {
  REQUIRE_ORACLE();
  convert("run/model", "tf/bert_model.ckpt");
  convert("tf/bert_model.ckpt", "hf", to(ModelForm::hugging_face));
  io::TensorMap inputs;
  for (const char* name : {"input_ids", "input_mask", "segment_ids", "masked_lm_positions"})
    inputs.emplace(name, golden_.at(str("input/0/", name)));
  io::write_file(dir_.file("in"), io::safetensors_bytes(inputs));
  const auto result =
      run_oracle(str(source_path("tools/check_hf_folder.py"), " ", dir_.file("hf"), " --inputs ",
                     dir_.file("in"), " --outputs ", dir_.file("out")));
  ASSERT_EQ(result.status, 0) << result.text;
  const io::SafetensorsFile out(io::read_file(dir_.file("out")), "out");
  for (const char* name : {"mlm_logits", "nsp_logits"})
    EXPECT_LT(largest_difference(io::tensor_values<float>(out.at(name)),
                                 io::tensor_values<float>(golden_.at(str("output/", name)))),
              1e-5)
        << name;
}

TEST_F(Convert, LogsErrorWhenUsingAnOlderCheckpoint) {
  fs::copy(dir_.file("run/model/checkpoint-10"), dir_.file("run/model/checkpoint-20"));
  const CapturedLog log;
  EXPECT_EQ(convert("run/model", "tf/m.ckpt").step, 10);
  EXPECT_THAT(log.text(), HasSubstr(str("convert: ", dir_.file("run/model/checkpoint-20"),
                                        ", the newest checkpoint, is damaged; using step 10, ",
                                        dir_.file("run/model/checkpoint-10"))));
}

TEST_F(Convert, ReportsErrorsBeforeWriting) {
  EXPECT_THAT(refusal_of("run/model", "out"),
              HasSubstr("out: cannot infer the format from the name\n  hint: give --to"));
  EXPECT_THAT(refusal_of("none", "x.ckpt"), HasSubstr("none: No such file or directory"));
  io::write_file(dir_.file("old.ckpt"), "x");
  EXPECT_THAT(refusal_of("old.ckpt", "x.ckpt"), HasSubstr("TensorFlow 0.12 or later"));
  EXPECT_THAT(
      refusal_of("run/model", "out", {.form = ModelForm::smelt, .dtype = compiler::DType::bf16}),
      HasSubstr("smelt checkpoints store only f32 parameters"));
  fs::remove(vocab());
  EXPECT_THAT(refusal_of("run/model", "out", to(ModelForm::hugging_face)),
              HasSubstr("found no vocab.txt in its folder\n  hint: give --vocab"));
  io::write_file(vocab(), "other\n");  // not the checkpoint's vocabulary
  EXPECT_THAT(refusal_of("run/model", "out", to(ModelForm::hugging_face)),
              HasSubstr("found no vocab.txt in its folder"));
  ConvertJob other = to(ModelForm::hugging_face);
  other.vocab = vocab();
  EXPECT_THAT(refusal_of("run/model", "out", other),
              HasSubstr("is not the vocabulary of " + dir_.file("run/model/checkpoint-10")));
  EXPECT_FALSE(fs::exists(dir_.file("out")));
  convert("run/model", "tf/m.ckpt");
  EXPECT_THAT(refusal_of("run/model", "tf/m.ckpt"), HasSubstr("tf/m.ckpt already exists"));
  convert("tf/m.ckpt", "copy/checkpoint-3");
  EXPECT_THAT(refusal_of("tf/m.ckpt", "copy/checkpoint-3"), HasSubstr("already exists"));
  {
    const io::FolderLock training(dir_.file("copy"), "train");
    EXPECT_THAT(refusal_of("tf/m.ckpt", "copy/checkpoint-4"),
                HasSubstr("copy is in use by process "));
  }
  EXPECT_EQ(checkpoint_steps(dir_.file("copy")), std::vector<std::int64_t>{3});
  fs::remove(dir_.file("tf/bert_config.json"));
  ConvertJob given = to(ModelForm::hugging_face);
  io::write_file(dir_.file("v.txt"), vocabulary_of(99));
  given.vocab = dir_.file("v.txt");
  EXPECT_THAT(refusal_of("tf/m.ckpt", "hf", given),
              HasSubstr("the model's sizes are unknown: its folder has no bert_config.json"));
  given.config = dir_.file("v.txt");
  EXPECT_THAT(refusal_of("tf/m.ckpt", "hf", given), HasSubstr("v.txt is not a JSON object"));
}

TEST_F(Convert, RejectsAnotherModelsFilesInTheFolder) {
  io::write_file(dir_.file("v/vocab.txt"), "other\n");
  EXPECT_THAT(refusal_of("run/model", "v/m.ckpt"),
              HasSubstr("v/vocab.txt exists and is not the vocabulary of "));
  io::write_file(dir_.file("c/bert_config.json"), R"({"hidden_size": 77})");
  EXPECT_THAT(refusal_of("run/model", "c/m.ckpt"),
              HasSubstr("c/bert_config.json exists with another hidden_size: 77, but "));
  EXPECT_THAT(
      refusal_of("run/model", "c", to(ModelForm::tensorflow)),
      AllOf(HasSubstr("c is a folder, expected a prefix\n  hint: give a prefix in it, such as "),
            HasSubstr("c/model.ckpt")));
  EXPECT_EQ(io::list_folder(dir_.file("c")), std::vector<std::string>{"bert_config.json"});
  EXPECT_EQ(io::list_folder(dir_.file("v")), std::vector<std::string>{"vocab.txt"});
}

TEST_F(Convert, AcceptsARunFolder) {
  EXPECT_EQ(open_stored_model(dir_.file("run"), "convert").where,
            open_stored_model(dir_.file("run/model"), "convert").where);
  const std::string name = io::path_name(
      committed_path(dir_.file("run/model"), latest_checkpoint(dir_.file("run/model")).value()));
  fs::rename(dir_.file("run/model/" + name), dir_.file("mine"));
  EXPECT_THAT(refusal_of("mine", "m.ckpt"),
              HasSubstr(str("mine is a renamed checkpoint; its name must be ", name,
                            "\n  hint: rename the folder to ", name)));
}

TEST_F(Convert, RejectsAnotherArchitectureWithBothShapes) {
  convert("run/model", "tf/m.ckpt");
  Json config = facts_["config"];
  config["intermediate_size"] = 128;
  io::write_file(dir_.file("c.json"), config.dump());
  ConvertJob job = to(ModelForm::hugging_face);
  job.config = dir_.file("c.json");
  EXPECT_THAT(
      refusal_of("tf/m.ckpt", "hf", job),
      HasSubstr("intermediate/dense/kernel' is f32[32,64], the config expects f32[32,128]"));
  EXPECT_FALSE(fs::exists(dir_.file("hf")));
}

// TensorFlow 2's Keras names the layers layer_normalization_N, where the original has LayerNorm.
TEST_F(Convert, ReadsNumberedLayerNorms) {
  io::LazyTensors numbered;
  int norms = 0;
  for (const auto& [name, tensor] : parameters()) {
    std::string keras = name;
    if (const auto at = keras.find("LayerNorm"); at != keras.npos)
      keras.replace(at, 9, str("layer_normalization_", norms++ / 2));
    numbered.emplace(keras, tensor);
  }
  ASSERT_GT(norms, 2);
  write_tensorflow_checkpoint(dir_.file("keras/m.ckpt"), numbered);
  EXPECT_EQ(bytes_of(open("keras/m.ckpt").tensors), bytes_of(parameters()));
  const PretrainedWeights given = load_weights(dir_.file("keras/m.ckpt"));
  EXPECT_TRUE(given.parameters.contains("bert/embeddings/LayerNorm/gamma"));
}

// In Hugging Face format ELECTRA's two parts are two folders; converted back they are one model.
TEST(ConvertEmbedding, KeepsTheGeluAndNamesTheModulesThatAreLeftOut) {
  const TempDir dir;
  const Converted out =
      convert_checkpoint({.from = source_path("tests/golden/sentence_transformers/v3"),
                          .to = dir.file("hf"),
                          .form = ModelForm::hugging_face});
  EXPECT_THAT(out.left_out, testing::Contains(HasSubstr("modules.json and the pooling module")));
  EXPECT_EQ(Json::parse(io::read_file(dir.file("hf/config.json")))["hidden_act"], "gelu");
}

TEST(ConvertElectra, AllFormatsHaveTheSameBits) {
  const TempDir dir;
  const io::SafetensorsFile golden(
      io::read_file(source_path("tests/golden/electra_tiny.safetensors")), "e");
  const Json h = Json::parse(
      io::read_file(source_path("tests/golden/electra_tiny.json")))["cases"]["electra"]["hparams"];
  io::TensorMap tensors;
  for (const auto& [key, tensor] : golden.tensors())
    if (key.starts_with("electra/param/")) tensors.emplace(key.substr(14), tensor);
  Json config{{"vocab_size", h["vocab_size"]},
              {"embedding_size", h["embedding_size"]},
              {"generator_layers", h.value("generator_layers", 1.0)},
              {"generator_hidden_size", h["generator_hidden_size"]}};
  config.update(h["model_hparam_overrides"]);
  save_checkpoint(dir.file("m"), 5, tensors, {{"task", "electra"}, {"model", config}});
  io::write_file(dir.file("m/vocab.txt"), vocabulary_of(h["vocab_size"]));
  const auto convert = [&](const char* from, const char* to, ModelForm form) {
    convert_checkpoint({.from = dir.file(from), .to = dir.file(to), .form = form});
    EXPECT_EQ(bytes_of(open_stored_model(dir.file(to), "t").tensors),
              bytes_of(lazy_tensors(tensors)))
        << to;
  };
  convert("m", "tf/model.ckpt-5", ModelForm::tensorflow);
  convert("tf/model.ckpt-5", "hf", ModelForm::hugging_face);
  EXPECT_TRUE(fs::exists(dir.file("hf/discriminator/config.json")));
  // Released checkpoints have no electra_config.json; their sizes are inferred from the parameters.
  const auto generator_width = [&](const Json& said) {
    io::write_file(dir.file("tf/electra_config.json"), said.dump());
    return open_stored_model(dir.file("tf/model.ckpt-5"), "t").config["generator_hidden_size"];
  };
  EXPECT_EQ(generator_width(Json::parse(io::read_file(dir.file("hf/discriminator/config.json")))),
            h["generator_hidden_size"]);
  Json wrong = config;
  wrong["generator_hidden_size"] = 1.0;
  EXPECT_THAT(error_of<UsageError>([&] { generator_width(wrong); }),
              HasSubstr("electra_config.json: generator_hidden_size is 1.0, the parameters have "));
  fs::remove(dir.file("tf/electra_config.json"));
  const Json derived = open_stored_model(dir.file("tf/model.ckpt-5"), "t").config;
  for (const char* name : {"vocab_size", "embedding_size", "hidden_size", "num_hidden_layers",
                           "intermediate_size", "generator_hidden_size"})
    if (config.contains(name)) {
      EXPECT_EQ(derived[name], config[name]) << name;
    }
  EXPECT_TRUE(derived.contains("generator_layers"));
  EXPECT_TRUE(fs::exists(dir.file("hf/generator/config.json")));
  convert("hf", "back", ModelForm::smelt);
  convert("back", "hf2", ModelForm::hugging_face);
  for (const char* file : {"discriminator/model.safetensors", "generator/model.safetensors",
                           "generator/config.json", "discriminator/config.json"})
    EXPECT_EQ(io::read_file(dir.file(str("hf2/", file))), io::read_file(dir.file(str("hf/", file))))
        << file;
}

TEST(ConvertJestimator, SupportsTensorflowButNotHuggingFace) {
  const TempDir dir;
  const std::vector<float> values{1, 2};
  const io::TensorMap tensors{{"encoder/embedder_block/token_embed/embedding",
                               {{compiler::DType::f32, {2}}, std::as_bytes(std::span(values))}}};
  save_checkpoint(dir.file("m"), 5, tensors, {}, {.names = CheckpointNames::jestimator});
  convert_checkpoint({.from = dir.file("m/checkpoint_5"), .to = dir.file("m.ckpt")});
  EXPECT_EQ(bytes_of(open_stored_model(dir.file("m.ckpt"), "t").tensors),
            bytes_of(lazy_tensors(tensors)));
  EXPECT_THAT(error_of([&] {
                convert_checkpoint(
                    {.from = dir.file("m"), .to = dir.file("hf"), .form = ModelForm::hugging_face});
              }),
              HasSubstr("transformers has no class for JEstimator's BERT"));
}

}  // namespace
}  // namespace smelt::checkpoint
