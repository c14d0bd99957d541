// model.type t5 in a recipe: its fields, what does not fit, and a small run from text to its
// evaluation, resumed and over devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint.h"
#include "format/token_store.h"
#include "recipe/evaluation.h"
#include "recipe/objective_type.h"
#include "recipe/pipeline.h"
#include "recipe/unigram.h"
#include "store/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "tokenize/tokenizer.h"

namespace smelt {
namespace {

using testing::HasSubstr;

class T5Recipe : public testing::Test {
 protected:
  Recipe recipe(std::vector<std::string> settings = {}) {
    write_file(dir_.file("r.yaml"), "model: {type: t5}\nvocab: {type: unigram, size: 32000}\n");
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  std::string refusal(const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { recipe(settings); });
  }

  TempDir dir_;
};

TEST_F(T5Recipe, HasTheOriginalsFieldsAndDefaults) {
  const Recipe r = recipe();
  EXPECT_EQ(r.model["d_model"], 512);
  EXPECT_EQ(r.model["z_loss"], 1e-4);
  EXPECT_EQ(r.data["objective"], "span_corruption");
  EXPECT_EQ(r.data["extra_ids"], 100);
  const auto& features = r.program->job->task.features;
  ASSERT_EQ(features.size(), 2u);
  EXPECT_EQ(features[0].row, Dims{512});
  EXPECT_EQ(features[1].row, Dims{114});
  EXPECT_EQ(features[1].limit, 32128);  // 32000 pieces, 100 sentinels, up to a multiple of 128
  EXPECT_EQ(r.program->job->task.windows->tokens, 568);
}

TEST_F(T5Recipe, NamesWhatDoesNotFit) {
  EXPECT_EQ(refusal({"vocab.type=wordpiece"}),
            "--set: a T5 learns SentencePiece's pieces, vocab.type is wordpiece\n  hint: set "
            "vocab.type to unigram, or vocab.file to a SentencePiece model such as T5's "
            "spiece.model");
  EXPECT_EQ(refusal({"data.extra_ids=20"}),
            "--set: windows of 568 tokens have 28 spans of noise, and the vocabulary has 20 "
            "sentinels\n  hint: raise data.extra_ids or data.mean_noise_span_length, or lower "
            "data.noise_density");
  EXPECT_EQ(
      refusal({"model.vocab_size=32000"}),
      "--set: model.vocab_size 32000 has no rows for 32000 pieces and 100 sentinels on top of "
      "them\n  hint: set it to 0, or to 32100 or more");
  EXPECT_THAT(refusal({"data.targets_length=100"}),
              HasSubstr("targets become 114 tokens long, data.targets_length is 100"));
  EXPECT_THAT(refusal({"data.objective=span"}), HasSubstr("data: objective 'span' is unknown"));
  EXPECT_THAT(refusal({"data.documents=pack"}), HasSubstr("did you mean 'packed'?"));
  EXPECT_THAT(refusal({"model.feed_forward_proj=gelu"}),
              HasSubstr("--set: model: feed_forward_proj is 'gelu'\n  hint: "));
  EXPECT_THAT(refusal({"model.num_heads=0"}),
              HasSubstr("--set: model: num_heads is 0, must be at least 1"));
  EXPECT_THAT(refusal({"model.relative_attention_num_buckets=6"}),
              HasSubstr("relative_attention_num_buckets is 6, must be a multiple of 4"));
  EXPECT_THAT(
      refusal({"model.relative_attention_max_distance=16"}),
      HasSubstr("relative_attention_max_distance is 16, must be more than half the buckets"));
  EXPECT_THAT(refusal({"model.dropout_rate=1"}), HasSubstr("dropout_rate is 1, must be in [0, 1)"));
  EXPECT_THAT(refusal({"model.initializer_factor=-1"}),
              HasSubstr("initializer_factor is -1, must be a finite number from 0 on"));
  EXPECT_THAT(refusal({"model.z_loss=-1"}), HasSubstr("z_loss is -1, must be a number from 0 on"));
}

TEST(Unigram, IsTheEntropyOfCountsThatAreSmoothed) {
  TempDir dir;
  const auto store = [&](const char* name, const std::vector<std::int32_t>& ids) {
    std::string bytes;
    TokenStoreWriter writer({}, 4, [&](std::string_view more) { bytes += more; });
    writer.add(ids);
    writer.finish();
    write_file(dir.file(name), bytes);
    return dir.file(name);
  };
  Task task;
  task.features = {{.name = "targets", .row = {4}, .limit = 9, .limit_name = "vocab_size"}};
  const UnigramJob job{.name = "unigram_loss",
                       .train = store("a.tokens", {3, 3, 3, 4, 1, 1, 8, 2}),
                       .heldout = store("b.tokens", {3, 4, 5, 1, 3, 3, 3, 3}),
                       .task = task,
                       .feature = "targets",
                       .first_word = 2,
                       .word_limit = 6,
                       .examples = 1};
  const MeasuredValue got = unigram_measure(job);
  EXPECT_EQ(got.weight, 3);  // 3, 4 and 5 of the first example
  EXPECT_NEAR(got.value, -(std::log(4 / 9.0) + std::log(2 / 9.0) + std::log(1 / 9.0)) / 3, 1e-12);
}

// ---- runs ----

class T5Run : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    std::string text;
    for (int d = 0; d < 60; ++d)
      text += str("the cat sees a dog and ", d, " birds\na dog likes the cat ", d,
                  " times\nsome birds follow a small river\n\n");
    write_file(dir_.file("text.txt"), text);
    write_file(
        dir_.file("r.yaml"),
        str("text: {input: ", dir_.file("text.txt"),
            ", sentences: lines, dedup: none, heldout: 0.3}\n"
            "vocab: {type: unigram, size: 60}\n"
            "data: {inputs_length: 24, extra_ids: 8}\n"
            "model: {type: t5, d_model: 16, d_kv: 4, d_ff: 16, num_layers: 1, num_heads: 2}\n"
            "train: {batch_size: 4, steps: 4, save_every: 2, log_every: 4,\n"
            "  optimizer: adafactor, schedule: inverse_sqrt, learning_rate: 0.05,\n"
            "  warmup_steps: 4}\neval: {batch_size: 4}\n"));
  }
  Recipe recipe(const std::string& out, std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + dir_.file(out));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  std::string weights(const std::string& out) const {
    std::string all;
    for (const auto& [name, tensor] : load_checkpoint(dir_.file(out + "/model"), 4).tensors)
      all +=
          name + std::string(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
    return all;
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(T5Run, LearnsFromTextAndIsToldBesideAUnigram) {
  Evaluation told;
  run_recipe(recipe("m"), {}, [&](const Evaluation& e) { told = e; });
  EXPECT_EQ(told.global_step, 4);
  EXPECT_GT(told.measure("unigram_loss").value, 1);
  EXPECT_EQ(told.measure("unigram_loss").weight, told.measure("word_loss").weight);
  EXPECT_THAT(evaluation_report(recipe("m"), told), HasSubstr("by their frequencies alone"));
  const std::string vocabulary = dir_.file("m/vocab.model");
  const auto pieces = load_tokenizer(vocabulary, {});
  EXPECT_EQ(pieces->token(0), "<pad>");
  EXPECT_EQ(pieces->token(1), "</s>");
  EXPECT_EQ(pieces->token(2), "<unk>");
  EXPECT_NE(pieces->token(3), "[MASK]");
  EXPECT_THAT(read_file(dir_.file("m/model/t5_config.json")), HasSubstr("\"vocab_size\": 128"));
}

TEST_F(T5Run, GoesOnAsIfItHadNeverStoppedAndIsHeldToItsNoise) {
  run_recipe(recipe("whole"));
  run_recipe(recipe("cut", {"train.steps=2"}));
  run_recipe(recipe("cut"));
  EXPECT_EQ(weights("cut"), weights("whole"));
  EXPECT_THAT(error_of<UsageError>([&] {
                run_recipe(recipe("cut", {"data.mean_noise_span_length=2", "train.steps=6"}));
              }),
              HasSubstr("mean_noise_span_length"));
}

TEST_F(T5Run, ShowsWhatItFillsWhileItTrains) {
  run_recipe(recipe("m", {"track.fill=the cat [MASK] a dog | some [MASK] follow a [MASK] river",
                          "eval.every=2", "train.steps=2"}));
  EXPECT_THAT(log_.text(), HasSubstr("some [MASK] follow a [MASK] river : '"));
  const std::string told = read_file(dir_.file("m/model/metrics.jsonl"));
  EXPECT_THAT(told, HasSubstr("\"kind\":\"filled\""));
}

TEST_F(T5Run, EveryObjectiveIsLearnt) {
  for (const char* objective : {"iid_denoise_text", "prefix_lm", "lm"}) {
    SCOPED_TRACE(objective);
    Evaluation told;
    run_recipe(recipe(objective, {str("data.objective=", objective), "train.steps=2",
                                  "data.documents=cut", "data.targets_length=24"}),
               {}, [&](const Evaluation& e) { told = e; });
    EXPECT_EQ(told.global_step, 2);
    EXPECT_GT(told.measure("word_loss").weight, 0);
  }
}

}  // namespace
}  // namespace smelt
