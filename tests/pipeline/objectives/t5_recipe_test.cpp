// Tests of recipes with model.type t5: fields, invalid settings, and a small run from text to
// evaluation, resumed and on several devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/preprocess/vocabulary_job.h"
#include "evaluation/tracking/metrics_file.h"
#include "io/filesystem/file.h"
#include "io/formats/token_store.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/objectives/unigram.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "runs/state_values.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;

class T5Recipe : public testing::Test {
 protected:
  Recipe recipe(std::vector<std::string> settings = {}) {
    io::write_file(dir_.file("r.yaml"), "model: {type: t5}\nvocab: {type: unigram, size: 32000}\n");
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
  EXPECT_EQ(features[0].row, compiler::Dims{512});
  EXPECT_EQ(features[1].row, compiler::Dims{114});
  EXPECT_EQ(features[1].limit,
            32128);  // 32000 pieces and 100 sentinels, rounded up to a multiple of 128
  EXPECT_EQ(r.program->job->task.windows->tokens, 568);
}

TEST_F(T5Recipe, NamesInvalidSettings) {
  EXPECT_EQ(
      refusal({"vocab.type=wordpiece"}),
      "--set: a T5 needs a SentencePiece vocabulary, but vocab.type is wordpiece\n  hint: set "
      "vocab.type to unigram, or vocab.file to a SentencePiece model such as T5's spiece.model");
  EXPECT_THAT(refusal({"vocab.type=wordpiece", "vocab.file=pieces"}),
              HasSubstr("vocab.file pieces is neither a *.model nor a tokenizer.json"));
  EXPECT_EQ(refusal({"data.extra_ids=20"}),
            "--set: windows of 568 tokens have 28 spans of noise, but the vocabulary has only 20 "
            "sentinels\n  hint: raise data.extra_ids or data.mean_noise_span_length, or lower "
            "data.noise_density");
  EXPECT_EQ(refusal({"model.vocab_size=32000"}),
            "--set: model.vocab_size 32000 is too small for 32000 pieces and 100 additional "
            "sentinels\n  hint: set it to 0, or to 32100 or more");
  EXPECT_THAT(refusal({"data.targets_length=100"}),
              HasSubstr("targets become 114 tokens long, data.targets_length is 100"));
  EXPECT_THAT(refusal({"data.objective=span"}),
              HasSubstr("data.objective is 'span'\n  hint: known: span_corruption"));
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
              HasSubstr("initializer_factor is -1, must be a finite number of at least 0"));
  EXPECT_THAT(refusal({"model.z_loss=-1"}), HasSubstr("z_loss is -1, must be at least 0"));
}

TEST(Unigram, IsTheEntropyOfSmoothedCounts) {
  TempDir dir;
  const auto store = [&](const char* name, const std::vector<std::int32_t>& ids) {
    std::string bytes;
    io::TokenStoreWriter writer({}, 4, [&](std::string_view more) { bytes += more; });
    writer.add(ids);
    writer.finish();
    io::write_file(dir.file(name), bytes);
    return dir.file(name);
  };
  model::Task task;
  task.features = {{.name = "targets", .row = {4}, .limit = 9, .limit_name = "vocab_size"}};
  const UnigramJob job{.name = "unigram_loss",
                       .train = store("a.tokens", {3, 3, 3, 4, 1, 1, 8, 2}),
                       .heldout = store("b.tokens", {3, 4, 5, 1, 3, 3, 3, 3}),
                       .task = task,
                       .feature = "targets",
                       .words = {{2, 4}, {4, 6}},
                       .examples = 1};
  const model::MeasuredValue got = unigram_measure(job);
  EXPECT_EQ(got.weight, 3);  // 3, 4 and 5 of the first example
  EXPECT_NEAR(got.value, -(std::log(4 / 9.0) + std::log(2 / 9.0) + std::log(1 / 9.0)) / 3, 1e-12);
  // The same words have 3, 1 and 4 characters.
  const text::BertTokenizer pieces(text::Vocabulary({"[UNK]", "a", "b", "▁ab", "é", "wxyz"}), {});
  EXPECT_NEAR(characters_of_words(job, pieces), 8 / 3.0, 1e-12);
  // Two byte pieces are one character, and an unknown piece counts as 0.
  const text::BertTokenizer bytes(text::Vocabulary({"x", "a", "b", "<0xD0>", "<0xB9>", "[UNK]"}),
                                  {});
  EXPECT_NEAR(characters_of_words(job, bytes), 1 / 3.0, 1e-12);
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
    io::write_file(dir_.file("text.txt"), text);
    io::write_file(
        dir_.file("r.yaml"),
        str("text: {input: ", dir_.file("text.txt"),
            ", sentences: lines, dedup: none, heldout: 0.3}\n"
            "vocab: {type: unigram, size: 60}\n"
            "data: {inputs_length: 24, extra_ids: 8}\n"
            "model: {type: t5, d_model: 16, d_kv: 4, d_ff: 16, num_layers: 1, num_heads: 2}\n"
            "train: {batch_size: 4, steps: 4, checkpoint.save_interval_steps: 2, logging_steps: "
            "4,\n"
            "  optimizer.type: adafactor, schedule.type: inverse_sqrt, optimizer.learning_rate: "
            "0.05,\n"
            "  schedule.warmup_steps: 4}\neval: {batch_size: 4}\n"));
  }
  Recipe recipe(const std::string& out, std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + dir_.file(out));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  std::string weights(const std::string& out) const {
    return stored_values(dir_.file(out + "/model"), 4);
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(T5Run, LearnsFromTextAndReportsAUnigramBaseline) {
  execution::Evaluation told;
  const auto learn = [&](const char* steps) {
    run_recipe(recipe("m", {steps}), {}, [&](const execution::Evaluation& e) { told = e; });
    return told.measure("target_loss").value;
  };
  const double begun = learn("train.steps=4");
  EXPECT_EQ(told.global_step, 4);
  EXPECT_LT(learn("train.steps=60"), begun - 0.5);
  EXPECT_GT(told.measure("unigram_loss").value, 1);
  EXPECT_EQ(told.measure("unigram_loss").weight, told.measure("word_loss").weight);
  EXPECT_THAT(evaluation_report(recipe("m"), told), HasSubstr("only knows token frequencies"));
  const std::string vocabulary = dir_.file("m/vocab.model");
  const auto pieces = text::load_tokenizer(vocabulary, {});
  EXPECT_EQ(pieces->token(0), "<pad>");
  EXPECT_EQ(pieces->token(1), "</s>");
  EXPECT_EQ(pieces->token(2), "<unk>");
  EXPECT_NE(pieces->token(3), "[MASK]");
  EXPECT_THAT(io::read_file(dir_.file("m/model/t5_config.json")), HasSubstr("\"vocab_size\": 128"));
}

// <extra_id_7> 3, … <extra_id_0> 10, below all words.
TEST_F(T5Run, SupportsAVocabularyThatContainsSentinels) {
  data::VocabularyJob job;
  job.out = dir_.file("own.model");
  job.type = data::VocabularyType::unigram;
  job.tokenizer.lower_case = false;
  job.text.input = dir_.file("text.txt");
  job.trainer.vocab_size = 60;
  for (int i = 7; i >= 0; --i) job.trainer.reserved.push_back(str("<extra_id_", i, ">"));
  data::train_vocabulary(job);
  io::write_file(dir_.file("tokenizer_config.json"),
                 R"({"added_tokens_decoder": {"60": {"content": "covid"}}})");
  const std::vector<std::string> own{"vocab.file=" + job.out, "model.vocab_size=61",
                                     "data.extra_ids=0", "train.steps=2"};
  EXPECT_EQ(recipe("m", own).program->job->task.features[0].limit, 61);
  execution::Evaluation told;
  run_recipe(recipe("m", own), {}, [&](const execution::Evaluation& e) { told = e; });
  EXPECT_GT(told.measure("word_loss").weight, 0);
  EXPECT_EQ(told.measure("unigram_loss").weight, told.measure("word_loss").weight);
  EXPECT_LT(told.measure("word_loss").weight, told.measure("target_loss").weight);
  EXPECT_THAT(log_.text(), HasSubstr("own.model: pre-training splits added tokens into pieces: "
                                     "covid"));
}

TEST_F(T5Run, KeepsTheSentinelsOfItsInitialWeights) {
  run_recipe(recipe("m", {"train.steps=1"}));
  const std::string init = "train.init_from=" + dir_.file("m");
  EXPECT_EQ(recipe("n", {init}).program->job->task.features[0].limit, 128);
  EXPECT_THAT(error_of<UsageError>([&] { recipe("n", {init, "data.extra_ids=20"}); }),
              HasSubstr(str("data.extra_ids: 20 sentinels, but the weights of ", dir_.file("m"),
                            " have 8\n  hint: set data.extra_ids to 8")));
  // An existing run resumes from its own weights; with overwrite it has the sentinels of the new
  // weights.
  run_recipe(recipe("n", {init, "train.steps=1"}));
  const std::vector<std::string> other{"out=" + dir_.file("n"), init, "data.extra_ids=20"};
  EXPECT_THAT(error_of<UsageError>([&] { load_recipe(dir_.file("r.yaml"), other, true); }),
              HasSubstr("data.extra_ids: 20 sentinels, but the weights of "));
}

TEST_F(T5Run, RejectsTooLittleHeldOutText) {
  EXPECT_THAT(
      error_of<UsageError>(
          [&] { run_recipe(recipe("m", {"data.inputs_length=4096", "data.extra_ids=1000"})); }),
      testing::ContainsRegex(
          "data: the held-out text is [0-9]+ tokens long, which is shorter than a window of "
          "[0-9]+\n  hint: raise text.heldout, give more text.input, or lower data.inputs_length"));
}

TEST_F(T5Run, ResumesBitIdenticallyAndKeepsItsNoiseSettings) {
  run_recipe(recipe("whole"));
  run_recipe(recipe("cut", {"train.steps=2"}));
  run_recipe(recipe("cut"));
  EXPECT_EQ(weights("cut"), weights("whole"));
  EXPECT_THAT(error_of<UsageError>([&] {
                run_recipe(recipe("cut", {"data.mean_noise_span_length=2", "train.steps=6"}));
              }),
              HasSubstr("mean_noise_span_length"));
}

TEST_F(T5Run, LogsFilledMasksDuringTraining) {
  const std::vector<std::string> settings{
      "track.fill=the cat [MASK] a dog | some [MASK] follow a [MASK] river", "eval.every=250",
      "train.steps=500"};
  run_recipe(recipe("m", settings));
  EXPECT_THAT(log_.text(), HasSubstr("some [MASK] follow a [MASK] river : '"));
  Json filled;
  for (const evaluation::Record& record :
       evaluation::read_metrics(dir_.file("m/model/metrics.jsonl")))
    if (record.value("kind", "") == "filled") filled = record["texts"];
  ASSERT_EQ(filled.size(), 2u);
  EXPECT_EQ(filled[1]["masks"].size(), 2u);
  // The text that the model of this step generates after its sentinel.
  execution::GenerateOptions options;
  options.search.most_tokens = 4;
  const std::string text = "the cat <extra_id_0> a dog", sentinel = "<extra_id_0> ";
  const auto answers = PretrainedModel::of_recipe(recipe("m", settings))
                           .generator(options)
                           .answer(std::vector<std::string>{text});
  const std::string said = answers[0][0].text;
  ASSERT_THAT(said, testing::StartsWith(sentinel));
  const std::string behind = said.substr(sentinel.size(), said.find(" <") - sentinel.size());
  EXPECT_THAT(filled[0]["masks"][0][0][0].get<std::string>(), testing::StartsWith(behind));
}

TEST_F(T5Run, LearnsEveryObjective) {
  for (const char* objective : {"iid_denoise_text", "prefix_lm", "lm"}) {
    SCOPED_TRACE(objective);
    execution::Evaluation told;
    const auto learn = [&](const char* steps) {
      run_recipe(recipe(objective, {str("data.objective=", objective), steps, "data.documents=cut",
                                    "data.targets_length=24"}),
                 {}, [&](const execution::Evaluation& e) { told = e; });
      EXPECT_GT(told.measure("word_loss").weight, 0);
      return told.measure("target_loss").value;
    };
    const double begun = learn("train.steps=2");
    EXPECT_EQ(told.global_step, 2);
    EXPECT_LT(learn("train.steps=40"), begun - 0.3);
  }
}

}  // namespace
}  // namespace smelt::pipeline
