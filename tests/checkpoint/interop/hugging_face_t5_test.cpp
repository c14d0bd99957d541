// T5 in Hugging Face format and under the names of the original's checkpoints, compared with the
// parameters and scores of transformers (tests/golden/t5_tiny.*).
#include "checkpoint/interop/hugging_face_t5.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/str.h"
#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/t5_names.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "io/formats/config.h"
#include "io/formats/crc32c.h"
#include "runs/golden_t5.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/largest_difference.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "text/tokenizers/sentinels.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::checkpoint {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class T5Folder : public testing::TestWithParam<std::string> {
 protected:
  T5Folder()
      : golden_(io::read_file(source_path("tests/golden/t5_tiny.safetensors")), "t5_tiny"),
        config_(io::parse_config<model::T5Config>(
            Json::parse(
                io::read_file(source_path("tests/golden/t5_tiny.json")))[GetParam()]["config"],
            "t5_tiny.json")) {
    const std::string prefix = GetParam() + "/param/";
    for (const auto& [name, view] : golden_.tensors())
      if (name.starts_with(prefix)) state_[name.substr(prefix.size())] = view;
    io::write_file(dir_.file("run/vocab.model"), golden_t5_vocabulary());
  }
  const io::TensorView& golden(const std::string& name) const {
    return golden_.at(str(GetParam(), "/", name));
  }
  io::LazyTensors tensors() const { return lazy_tensors(state_); }
  void save() const {
    save_checkpoint(
        dir_.file("run/model"), 10, state_,
        {{"task", "t5"},
         {"model", io::config_json(config_)},
         {"data", {{"window", {{"sentinels", kGoldenT5Sentinels}}}}},
         {"vocabulary_crc32c", io::crc32c(io::read_file(dir_.file("run/vocab.model")))}});
  }
  Converted convert(const std::string& from, const std::string& to, ModelForm form) const {
    return convert_checkpoint({.from = dir_.file(from), .to = dir_.file(to), .form = form});
  }
  void expect_own_tensors(const StoredModel& read) const {
    ASSERT_EQ(read.tensors.size(), state_.size());
    for (const auto& [name, tensor] : tensors())
      EXPECT_EQ(read.tensors.at(name).read(), tensor.read()) << name;
  }

  TempDir dir_;
  io::SafetensorsFile golden_;
  model::T5Config config_;
  io::TensorMap state_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, T5Folder, testing::Values("small", "gated"),
                         [](const auto& info) { return info.param; });

TEST_P(T5Folder, RoundTripThroughAllFormatsIsBitIdentical) {
  save();
  const Converted tf = convert("run/model", "tf/model.ckpt-10", ModelForm::tensorflow);
  EXPECT_EQ(tf.parameters, state_.size());
  const io::LazyTensors original = TensorflowCheckpoint(dir_.file("tf/model.ckpt-10")).tensors();
  EXPECT_TRUE(original.contains("decoder/block_002/layer_001/EncDecAttention/q"));
  EXPECT_TRUE(
      original.contains("encoder/block_000/layer_000/SelfAttention/relative_attention_bias"));
  std::filesystem::remove(dir_.file("tf/t5_config.json"));  // the shapes give all sizes
  convert("tf/model.ckpt-10", "hf", ModelForm::hugging_face);
  convert("hf", "again", ModelForm::smelt);
  for (const char* form : {"tf/model.ckpt-10", "hf", "again"}) {
    const StoredModel read = open_stored_model(dir_.file(form), "open");
    expect_own_tensors(read);
    EXPECT_THAT(read.skipped, testing::IsEmpty()) << form;
    model::T5Config sizes = io::parse_config<model::T5Config>(read.config, form);
    EXPECT_EQ(sizes.num_heads, 3);
    EXPECT_EQ(sizes.d_kv, 6);
    EXPECT_EQ(sizes.decoder_layers(), 3);
    EXPECT_EQ(sizes.relative_attention_num_buckets, 8);
    EXPECT_EQ(sizes.feed_forward_proj, config_.feed_forward_proj);
    EXPECT_EQ(sizes.tie_word_embeddings, config_.tie_word_embeddings);
  }
  EXPECT_EQ(io::read_file(dir_.file("hf/spiece.model")),
            io::read_file(dir_.file("run/vocab.model")));
}

TEST_P(T5Folder, TransformersComputesTheSameScoresAndTokens) {
  REQUIRE_ORACLE();
  save();
  convert("run/model", "hf", ModelForm::hugging_face);
  io::TensorMap inputs;
  for (const char* name : {"inputs", "targets"}) inputs.emplace(name, golden(name));
  io::write_file(dir_.file("in"), io::safetensors_bytes(inputs));
  const auto result =
      run_oracle(str(source_path("tools/check_hf_folder.py"), " ", dir_.file("hf"), " --inputs ",
                     dir_.file("in"), " --outputs ", dir_.file("out"), " --text 'a bad cab'"));
  ASSERT_EQ(result.status, 0) << result.text;
  const io::SafetensorsFile out(io::read_file(dir_.file("out")), "out");
  EXPECT_LT(largest_difference(io::tensor_values<float>(out.at("logits")),
                               io::tensor_values<float>(golden("scores"))),
            1e-4);
  const auto tokenizer = text::load_tokenizer(dir_.file("run/vocab.model"), {});
  std::vector<std::int32_t> ids;
  tokenizer->encode("a bad cab", ids);
  ids.push_back(text::id_of_piece(*tokenizer, "vocab", "</s>"));
  EXPECT_THAT(result.text, HasSubstr(str("ids ", join(ids, " "), "\n")));
  EXPECT_THAT(result.text, HasSubstr(str("sentinels ", kGoldenT5Pieces + kGoldenT5Sentinels - 1,
                                         " ", kGoldenT5Pieces + kGoldenT5Sentinels - 2)));
}

// A folder saved with only transformers' fast tokenizer has tokenizer.json but no spiece.model.
TEST_P(T5Folder, ReadsVocabularyFromTokenizerJson) {
  REQUIRE_ORACLE();
  save();
  convert("run/model", "hf", ModelForm::hugging_face);
  const auto result = run_oracle(str(source_path("tools/check_hf_folder.py"), " ", dir_.file("hf"),
                                     " --save-tokenizer ", dir_.file("fast")));
  ASSERT_EQ(result.status, 0) << result.text;
  std::filesystem::rename(dir_.file("fast/tokenizer.json"), dir_.file("hf/tokenizer.json"));
  const auto own = text::load_tokenizer(dir_.file("hf/spiece.model"), {});
  std::filesystem::remove(dir_.file("hf/spiece.model"));
  std::filesystem::remove(dir_.file("hf/tokenizer_config.json"));
  const StoredModel read = open_stored_model(dir_.file("hf"), "open");
  EXPECT_EQ(read.vocab, dir_.file("hf/tokenizer.json"));
  EXPECT_EQ(read.t5.extra_ids, kGoldenT5Sentinels);
  io::write_file(dir_.file("made.model"), read.vocab_txt);
  for (const std::string& path : {read.vocab, dir_.file("made.model")}) {
    const auto tokenizer = text::load_tokenizer(path, {});
    ASSERT_EQ(tokenizer->size(), own->size());
    for (std::int32_t id = 0; id < own->size(); ++id)
      EXPECT_EQ(tokenizer->token(id), own->token(id));
    for (const char* text : {"a bad cab", "  a  bed ", "ａ ｂad", "xyz\tbad", ""}) {
      std::vector<std::int32_t> is, was;
      tokenizer->encode(text, is);
      own->encode(text, was);
      EXPECT_EQ(is, was) << text;
      EXPECT_EQ(tokenizer->decode(is), own->decode(was));
    }
  }
  convert("hf", "again", ModelForm::smelt);
  EXPECT_EQ(io::read_file(dir_.file("again/spiece.model")), read.vocab_txt);
  EXPECT_EQ(load_weights(dir_.file("hf")).vocab_txt, read.vocab_txt);
}

// The Flax models of transformers, such as those of run_t5_mlm_flax.py, have this format.
TEST_P(T5Folder, ReadsFlaxWeights) {
  export_hugging_face_t5(dir_.file("hf"), config_, dir_.file("run/vocab.model"), kGoldenT5Sentinels,
                         tensors(), {});
  json tree = json::object();
  for (const ParameterName& name : t5_names(config_)) {
    const bool is_table = name.hugging_face.find("bias.weight") != std::string::npos ||
                          name.hugging_face == "shared.weight";
    const bool is_norm = name.hugging_face.find("layer_norm") != std::string::npos;
    json* node = &tree;
    const std::string path = name.hugging_face.substr(0, name.hugging_face.rfind('.'));
    for (const std::string_view part : split(path, '.')) node = &(*node)[std::string(part)];
    const io::TensorView& value = state_.at(name.original);
    compiler::Dims dims = value.shape.dims;
    std::vector<float> values = io::tensor_values<float>(value);
    // Flax stores the relative attention bias like PyTorch, transposed.
    if (is_table && name.transposed) {
      std::vector<float> turned;
      for (std::int64_t c = 0; c < dims[1]; ++c)
        for (std::int64_t r = 0; r < dims[0]; ++r)
          turned.push_back(values[static_cast<std::size_t>(r * dims[1] + c)]);
      values = turned;
      std::swap(dims[0], dims[1]);
    }
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    const json array{dims, "float32", json::binary({bytes, bytes + values.size() * sizeof(float)})};
    (*node)[is_table  ? "embedding"
            : is_norm ? "weight"
                      : "kernel"] = json::binary(json::to_msgpack(array), 1);
  }
  const auto packed = json::to_msgpack(tree);
  const std::string file(packed.begin(), packed.end());
  std::filesystem::remove(dir_.file("hf/model.safetensors"));
  io::write_file(dir_.file("hf/flax_model.msgpack"), file);
  expect_own_tensors(open_stored_model(dir_.file("hf"), "open"));
  EXPECT_EQ(load_weights(dir_.file("hf")).parameters.size(), state_.size());

  const auto refusal = [&](const std::string& bytes) {
    io::write_file(dir_.file("hf/flax_model.msgpack"), bytes);
    return error_of<UsageError>([&] { open_stored_model(dir_.file("hf"), "open"); });
  };
  EXPECT_THAT(refusal(file.substr(0, file.size() - 9)),
              HasSubstr("msgpack: ends too early (byte "));
  EXPECT_THAT(refusal("{}"), HasSubstr("flax_model.msgpack: is not a map of names (byte 0)"));
  const auto with = [&](const json& one) {
    const auto bytes = json::to_msgpack(json{{"shared", one}});
    return refusal({bytes.begin(), bytes.end()});
  };
  EXPECT_THAT(with(7), HasSubstr("has 'shared', which is not an array"));
  EXPECT_THAT(with({{"__msgpack_chunked_array__", true}}),
              HasSubstr("has 'shared' in several chunks"));
  EXPECT_THAT(with(json::binary(json::to_msgpack(json{{3}, "float32", json::binary({1, 2})}), 1)),
              HasSubstr("has 'shared' with 2 bytes, which does not match its dimensions"));
}

TEST_P(T5Folder, InitializesARun) {
  export_hugging_face_t5(dir_.file("hf"), config_, dir_.file("run/vocab.model"), kGoldenT5Sentinels,
                         tensors(), {});
  const PretrainedWeights given = load_weights(dir_.file("hf"));
  EXPECT_EQ(given.parameters.size(), state_.size());
  EXPECT_EQ(given.model, io::config_json(config_));
  EXPECT_EQ(given.vocab_txt, io::read_file(dir_.file("run/vocab.model")));
}

TEST_P(T5Folder, ReportsMismatches) {
  const auto refusal = [&](const model::T5Config& config, std::int64_t extra) {
    return error_of<UsageError>([&] {
      export_hugging_face_t5(dir_.file("none"), config, dir_.file("run/vocab.model"), extra,
                             tensors(), {});
    });
  };
  EXPECT_THAT(refusal(config_, 100),
              HasSubstr("vocab.model: 12 pieces and 100 sentinels are more than the config's "
                        "vocab_size 53\n  hint: use the vocabulary"));
  model::T5Config wide = config_;
  wide.d_ff = 25;
  EXPECT_THAT(refusal(wide, kGoldenT5Sentinels), HasSubstr("the config expects f32[16,25]"));
  EXPECT_FALSE(std::filesystem::exists(dir_.file("none")));

  export_hugging_face_t5(dir_.file("hf"), config_, dir_.file("run/vocab.model"), kGoldenT5Sentinels,
                         tensors(), {});
  json other = json::parse(io::read_file(dir_.file("hf/config.json")));
  other["feed_forward_proj"] = "gated-silu";
  io::write_file(dir_.file("hf/config.json"), other.dump());
  EXPECT_THAT(error_of<UsageError>([&] { load_weights(dir_.file("hf")); }),
              HasSubstr("config.json: feed_forward_proj is 'gated-silu', must be one of relu, "
                        "gated-gelu\n  hint: use a model with"));
  other["feed_forward_proj"] = 3;
  io::write_file(dir_.file("hf/config.json"), other.dump());
  EXPECT_THAT(error_of<UsageError>([&] { load_weights(dir_.file("hf")); }),
              HasSubstr("hf/config.json: feed_forward_proj is 3, must be a string"));
  other["feed_forward_proj"] = nullptr;
  io::write_file(dir_.file("hf/config.json"), other.dump());
  if (GetParam() == "small") load_weights(dir_.file("hf"));
  for (const char* file : {"hf/spiece.model", "hf/tokenizer.json"}) {
    std::filesystem::remove(dir_.file("hf/spiece.model"));
    io::write_file(dir_.file(file), "version https://git-lfs.github.com/spec/v1\noid sha256:01\n");
    if (GetParam() == "small") {
      EXPECT_THAT(error_of<UsageError>([&] { load_weights(dir_.file("hf")); }),
                  HasSubstr(str(file, ": is a Git LFS pointer")));
    }
  }
}

// Newer versions of Mesh TensorFlow write scopes with names instead of numbers.
TEST_P(T5Folder, ReadsScopesOfNewerMeshTensorFlow) {
  io::LazyTensors renamed;
  for (auto& [name, tensor] : to_original_t5(tensors())) {
    std::string newer = name;
    const bool decoder = name.starts_with("decoder/");
    for (const auto& [number, scope] :
         {std::pair{"/layer_000/", "/self_attention/"},
          {"/layer_001/", decoder ? "/enc_dec_attention/" : "/dense_relu_dense/"},
          {"/layer_002/", "/dense_relu_dense/"},
          {"/layer_norm/", "/rms_norm/"},
          {"/final_layer_norm/", "/rms_norm/"}})
      if (const auto at = newer.find(number); at != newer.npos)
        newer.replace(at, std::string_view(number).size(), scope);
    renamed.emplace(newer, tensor);
  }
  const std::string prefix = dir_.file("newer/model.ckpt-7");
  write_tensorflow_checkpoint(prefix, renamed);
  const StoredModel read = open_stored_model(prefix, "test");
  expect_own_tensors(read);
  EXPECT_EQ(read.config["d_ff"], config_.d_ff);
  EXPECT_EQ(read.config["d_model"], config_.d_model);
}

// Without the relative attention bias the sizes are unknown. Only commands that need them fail.
TEST_P(T5Folder, InfersSizesOfACheckpoint) {
  io::LazyTensors some = tensors();
  some.erase("encoder/block_000/layer_000/SelfAttention/relative_attention_bias");
  write_tensorflow_checkpoint(dir_.file("t/model.ckpt-7"), to_original_t5(some));
  EXPECT_TRUE(open_stored_model(dir_.file("t/model.ckpt-7"), "test").config.is_null());
  io::write_file(dir_.file("sizes.json"), io::config_json(config_).dump());
  const auto refusal = [&](const std::string& config) {
    return error_of<UsageError>([&] {
      convert_checkpoint({.from = dir_.file("t/model.ckpt-7"),
                          .to = dir_.file("out"),
                          .form = ModelForm::hugging_face,
                          .config = config,
                          .vocab = dir_.file("run/vocab.model")});
    });
  };
  EXPECT_THAT(refusal(""), HasSubstr("the model's sizes are unknown: its folder has no "
                                     "t5_config.json\n  hint: give --config"));
  EXPECT_THAT(refusal(dir_.file("sizes.json")),
              HasSubstr("no tensor 'encoder/block_000/layer_000/SelfAttention/relative_att"));
}

TEST_P(T5Folder, RejectsAnotherStartToken) {
  export_hugging_face_t5(dir_.file("hf"), config_, dir_.file("run/vocab.model"), kGoldenT5Sentinels,
                         tensors(), {});
  json other = json::parse(io::read_file(dir_.file("hf/config.json")));
  other["decoder_start_token_id"] = 5;
  io::write_file(dir_.file("hf/config.json"), other.dump());
  EXPECT_THAT(error_of<UsageError>([&] { load_weights(dir_.file("hf")); }),
              HasSubstr("config.json: decoder_start_token_id is 5, must be 0"));
}

TEST_P(T5Folder, RejectsAnotherTokenizer) {
  export_hugging_face_t5(dir_.file("hf"), config_, dir_.file("run/vocab.model"), kGoldenT5Sentinels,
                         tensors(), {});
  io::write_file(dir_.file("hf/tokenizer_config.json"), R"({"tokenizer_class": "ByT5Tokenizer"})");
  load_weights(dir_.file("hf"));  // the weights may be used with another vocabulary
  EXPECT_THAT(error_of<UsageError>([&] { open_stored_model(dir_.file("hf"), "test"); }),
              HasSubstr("tokenizer_class is \"ByT5Tokenizer\", not \"T5Tokenizer\""));
}

TEST_P(T5Folder, KeepsAddedTokensInASmeltCheckpoint) {
  export_hugging_face_t5(dir_.file("hf"), config_, dir_.file("run/vocab.model"), kGoldenT5Sentinels,
                         tensors(), {});
  io::write_file(dir_.file("hf/tokenizer_config.json"),
                 R"({"extra_ids": 10, "added_tokens_decoder": {"30": {"content": "covid"}}})");
  convert("hf", "own", ModelForm::smelt);
  convert("own", "again", ModelForm::hugging_face);
  const auto tokens = text::added_pieces(dir_.file("again/spiece.model")).tokens;
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].content, "covid");
  EXPECT_EQ(tokens[0].id, 30);
}

TEST(T5Names, IncludeGatedAndUntiedModels) {
  const io::LazyTensor one{{compiler::DType::f32, {1}}, [] { return std::vector<std::byte>(4); }};
  io::LazyTensors original;
  for (const char* name :
       {"shared/embedding", "encoder/block_011/layer_001/rms_norm/scale", "decoder/rms_norm/scale",
        "decoder/block_003/layer_000/SelfAttention/q_slot_vr"})
    original.emplace(name, one);
  std::vector<std::string> skipped, names;
  for (const auto& item : from_original_t5(original, skipped)) names.push_back(item.first);
  EXPECT_THAT(names,
              ElementsAre("decoder/final_layer_norm/scale",
                          "encoder/block_11/layer_001/layer_norm/scale", "shared/embedding"));
  EXPECT_THAT(skipped, ElementsAre("1 slot of Adafactor"));
  io::LazyTensors bert{{"bert/rms_norm/scale", one}};
  EXPECT_TRUE(from_original_t5(bert, skipped).contains("bert/rms_norm/scale"));
}

}  // namespace
}  // namespace smelt::checkpoint
