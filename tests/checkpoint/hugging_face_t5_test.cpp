// T5's folder, and its names in the original's checkpoints, with the parameters and scores of
// transformers (tests/golden/t5_tiny.*).
#include "checkpoint/hugging_face_t5.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "checkpoint/convert.h"
#include "checkpoint/given_weights.h"
#include "checkpoint/lazy_files.h"
#include "checkpoint/t5_names.h"
#include "checkpoint/tensorflow.h"
#include "format/config.h"
#include "format/crc32c.h"
#include "runs/golden_t5.h"
#include "store/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/largest_difference.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "tokenize/sentinels.h"

namespace smelt {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class T5Folder : public testing::TestWithParam<std::string> {
 protected:
  T5Folder()
      : golden_(read_file(source_path("tests/golden/t5_tiny.safetensors")), "t5_tiny"),
        config_(parse_config<T5Config>(
            json::parse(read_file(source_path("tests/golden/t5_tiny.json")))[GetParam()]["config"],
            "t5_tiny.json")) {
    const std::string prefix = GetParam() + "/param/";
    for (const auto& [name, view] : golden_.tensors())
      if (name.starts_with(prefix)) state_[name.substr(prefix.size())] = view;
    write_file(dir_.file("run/vocab.model"), golden_t5_vocabulary());
  }
  const TensorView& golden(const std::string& name) const {
    return golden_.at(str(GetParam(), "/", name));
  }
  LazyTensors tensors() const { return lazy_tensors(state_); }
  void save() const {
    save_checkpoint(dir_.file("run/model"), 10, state_,
                    {{"task", "t5"},
                     {"model", config_json(config_)},
                     {"data", {{"window", {{"sentinels", kGoldenT5Sentinels}}}}},
                     {"vocabulary_crc32c", crc32c(read_file(dir_.file("run/vocab.model")))}});
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
  SafetensorsFile golden_;
  T5Config config_;
  TensorMap state_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, T5Folder, testing::Values("small", "gated"),
                         [](const auto& info) { return info.param; });

TEST_P(T5Folder, GoesThroughAllThreeFormsBitForBit) {
  save();
  const Converted tf = convert("run/model", "tf/model.ckpt-10", ModelForm::tensorflow);
  EXPECT_EQ(tf.parameters, state_.size());
  const LazyTensors original = TensorflowCheckpoint(dir_.file("tf/model.ckpt-10")).tensors();
  EXPECT_TRUE(original.contains("decoder/block_002/layer_001/EncDecAttention/q"));
  EXPECT_TRUE(
      original.contains("encoder/block_000/layer_000/SelfAttention/relative_attention_bias"));
  std::filesystem::remove(dir_.file("tf/t5_config.json"));  // all sizes are in the shapes
  convert("tf/model.ckpt-10", "hf", ModelForm::hugging_face);
  convert("hf", "again", ModelForm::smelt);
  for (const char* form : {"tf/model.ckpt-10", "hf", "again"}) {
    const StoredModel read = open_stored_model(dir_.file(form), "open");
    expect_own_tensors(read);
    EXPECT_THAT(read.skipped, testing::IsEmpty()) << form;
    T5Config sizes = parse_config<T5Config>(read.config, form);
    EXPECT_EQ(sizes.num_heads, 3);
    EXPECT_EQ(sizes.d_kv, 6);
    EXPECT_EQ(sizes.decoder_layers(), 3);
    EXPECT_EQ(sizes.relative_attention_num_buckets, 8);
    EXPECT_EQ(sizes.feed_forward_proj, config_.feed_forward_proj);
    EXPECT_EQ(sizes.tie_word_embeddings, config_.tie_word_embeddings);
  }
  EXPECT_EQ(read_file(dir_.file("hf/spiece.model")), read_file(dir_.file("run/vocab.model")));
}

TEST_P(T5Folder, TransformersComputesTheSameScoresAndTokens) {
  REQUIRE_ORACLE();
  save();
  convert("run/model", "hf", ModelForm::hugging_face);
  TensorMap inputs;
  for (const char* name : {"inputs", "targets"}) inputs.emplace(name, golden(name));
  write_file(dir_.file("in"), safetensors_bytes(inputs));
  const auto result = run_command(str(oracle_python(), " ", source_path("tools/check_hf_folder.py"),
                                      " ", dir_.file("hf"), " --inputs ", dir_.file("in"),
                                      " --outputs ", dir_.file("out"), " --text 'a bad cab'"));
  ASSERT_EQ(result.status, 0) << result.text;
  const SafetensorsFile out(read_file(dir_.file("out")), "out");
  EXPECT_LT(largest_difference(tensor_values<float>(out.at("logits")),
                               tensor_values<float>(golden("scores"))),
            1e-4);
  const auto tokenizer = load_tokenizer(dir_.file("run/vocab.model"), {});
  std::vector<std::int32_t> ids;
  tokenizer->encode("a bad cab", ids);
  ids.push_back(id_of_piece(*tokenizer, "vocab", "</s>"));
  EXPECT_THAT(result.text, HasSubstr(str("ids ", join(ids, " "), "\n")));
  EXPECT_THAT(result.text, HasSubstr(str("sentinels ", kGoldenT5Pieces + kGoldenT5Sentinels - 1,
                                         " ", kGoldenT5Pieces + kGoldenT5Sentinels - 2)));
}

TEST_P(T5Folder, GivesItsWeightsToARun) {
  export_hugging_face_t5(dir_.file("hf"), config_, dir_.file("run/vocab.model"), kGoldenT5Sentinels,
                         tensors(), {});
  const GivenWeights given = load_weights(dir_.file("hf"));
  EXPECT_EQ(given.parameters.size(), state_.size());
  EXPECT_EQ(given.model, config_json(config_));
  EXPECT_EQ(given.vocab_txt, read_file(dir_.file("run/vocab.model")));
}

TEST_P(T5Folder, NamesWhatDoesNotFit) {
  const auto refusal = [&](const T5Config& config, std::int64_t extra) {
    return error_of<UsageError>([&] {
      export_hugging_face_t5(dir_.file("none"), config, dir_.file("run/vocab.model"), extra,
                             tensors(), {});
    });
  };
  EXPECT_THAT(refusal(config_, 100),
              HasSubstr("vocab.model: 12 pieces and 100 sentinels are more than the config's "
                        "vocab_size 53\n  hint: use the vocabulary"));
  T5Config wide = config_;
  wide.d_ff = 25;
  EXPECT_THAT(refusal(wide, kGoldenT5Sentinels), HasSubstr("the config asks for f32[16,25]"));
  EXPECT_FALSE(std::filesystem::exists(dir_.file("none")));

  export_hugging_face_t5(dir_.file("hf"), config_, dir_.file("run/vocab.model"), kGoldenT5Sentinels,
                         tensors(), {});
  json other = json::parse(read_file(dir_.file("hf/config.json")));
  other["feed_forward_proj"] = "gated-silu";
  write_file(dir_.file("hf/config.json"), other.dump());
  EXPECT_THAT(error_of<UsageError>([&] { load_weights(dir_.file("hf")); }),
              HasSubstr("config.json: feed_forward_proj is 'gated-silu'\n  hint: "));
}

TEST(T5Names, AreThoseOfTheOriginalsLaterModelsToo) {
  const LazyTensor one{{DType::f32, {1}}, [] { return std::vector<std::byte>(4); }};
  LazyTensors original;
  for (const char* name :
       {"shared/embedding", "encoder/block_011/layer_001/rms_norm/scale", "decoder/rms_norm/scale",
        "decoder/block_003/layer_000/SelfAttention/q_slot_vr"})
    original.emplace(name, one);
  std::vector<std::string> skipped, names;
  for (const auto& item : from_original_t5(original, skipped)) names.push_back(item.first);
  EXPECT_THAT(names,
              ElementsAre("decoder/final_layer_norm/scale",
                          "encoder/block_11/layer_001/layer_norm/scale", "shared/embedding"));
  EXPECT_THAT(skipped, ElementsAre("decoder/block_003/layer_000/SelfAttention/q_slot_vr (a slot of "
                                   "the original's Adafactor)"));
  LazyTensors bert{{"bert/rms_norm/scale", one}};
  EXPECT_TRUE(from_original_t5(bert, skipped).contains("bert/rms_norm/scale"));
}

}  // namespace
}  // namespace smelt
