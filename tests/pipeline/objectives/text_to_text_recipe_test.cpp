// Tests of recipes with model.type text_to_text: fine-tuning of a T5 on rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "checkpoint/interop/convert.h"
#include "checkpoint/storage/checkpoint.h"
#include "evaluation/tracking/metrics_file.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/config.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/objectives/t5_questions.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/sweep/trials.h"
#include "runs/golden_classify.h"
#include "runs/state_values.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "text/readers/lines.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;

class TextToText : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    std::string text;
    for (int d = 0; d < 40; ++d)
      text += str("the cat sees a dog and ", d, " birds\na dog likes the cat ", d,
                  " times\nsome birds follow a small river\n\n");
    io::write_file(dir_.file("text.txt"), text);
    io::write_file(
        dir_.file("t5.yaml"),
        str("out: ", dir_.file("base"), "\ntext: {input: ", dir_.file("text.txt"),
            ", sentences: lines, dedup: none, heldout: 0.3}\n"
            "vocab: {type: unigram, size: 60}\ndata: {inputs_length: 24, extra_ids: 8}\n"
            "model: {type: t5, d_model: 16, d_kv: 4, d_ff: 16, num_layers: 1, num_heads: 2}\n"
            "train: {batch_size: 4, steps: 1}\neval: {batch_size: 4}\n"));
    run_recipe(load_recipe(dir_.file("t5.yaml"), {}));
    std::string rows;
    for (int i = 0; i < 14; ++i)
      rows += str(R"({"source": ")", i % 2 == 0 ? "the cat sees " : "a dog likes the cat ", i,
                  R"( birds", "target": ")",
                  i % 2 == 0 ? "a dog" : "some birds follow a small river and a dog", "\"}\n");
    io::write_file(dir_.file("rows.jsonl"), rows);
    io::write_file(
        dir_.file("r.yaml"),
        str("data: {train: ", dir_.file("rows.jsonl"),
            ", inputs_length: 24, targets_length: 12, validation_share: 0.4}\n"
            "model: {type: text_to_text}\ntrain: {init_from: ",
            dir_.file("base"),
            ", batch_size: 4, steps: 4, checkpoint.save_interval_steps: 2, logging_steps: 4}\n"
            "eval: {batch_size: 4}\n"));
  }
  Recipe recipe(const std::string& out, std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + dir_.file(out));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  execution::Evaluation run(const std::string& out,
                            const std::vector<std::string>& settings = {}) const {
    execution::Evaluation told;
    run_recipe(recipe(out, settings), {}, [&](const execution::Evaluation& e) { told = e; });
    return told;
  }
  static std::vector<std::string> with(std::vector<std::string> settings,
                                       const std::string& another) {
    settings.push_back(another);
    return settings;
  }
  std::string weights(const std::string& out) const {
    return stored_values(dir_.file(out + "/model"), 4);
  }

  CapturedLog log_;
  TempDir dir_;
};

// A batch of two with one row is padded.
TEST_F(TextToText, IgnoresPaddingRowsInTheLoss) {
  run("m", {"model.loss_over=examples"});
  const auto scored = [&](const char* batch) {
    return evaluate_model(
        recipe("m", {"model.loss_over=examples", str("eval.batch_size=", batch)}));
  };
  const execution::Evaluation e = scored("3"), filled = scored("4");
  EXPECT_EQ(filled.examples, 6);
  EXPECT_EQ(filled.measure("target_loss").weight, 6);
  EXPECT_NEAR(filled.measure("target_loss").value, e.measure("target_loss").value, 1e-4);
  EXPECT_NEAR(filled.loss, e.loss, 1e-4);
}

TEST_F(TextToText, EvaluatesEveryRowAndGeneratesTheSameFromItsFolders) {
  const std::vector<std::string> long_enough{"data.prefix=a cat likes ",
                                             "train.steps=300",
                                             "train.checkpoint.save_interval_steps=300",
                                             "train.optimizer.learning_rate=0.01",
                                             "train.schedule.warmup_steps=10",
                                             "model.dropout=0"};
  const execution::Evaluation e = run("m", long_enough);
  EXPECT_LT(e.measure("target_loss").value, 1);
  EXPECT_EQ(e.examples, 6);
  EXPECT_EQ(e.measure("exact_match").weight, 6);
  EXPECT_THAT(log_.text(), HasSubstr("8 examples to train on, 6 held out"));
  EXPECT_THAT(log_.text(), HasSubstr("of them with answers longer than 12 tokens"));
  // A batch of two with one row is padded: the loss is the same with other batch sizes.
  const execution::Evaluation again =
      evaluate_model(recipe("m", with(long_enough, "eval.batch_size=5")));
  EXPECT_NEAR(again.measure("target_loss").value, e.measure("target_loss").value, 1e-5);
  EXPECT_EQ(again.measure("target_loss").weight, e.measure("target_loss").weight);
  std::vector<std::string> texts, said;
  text::LineReader lines(dir_.file("m/model/predictions.jsonl"));
  for (std::string line; lines.next(line);) {
    const auto row = Json::parse(line);
    texts.push_back(row["text"]);
    said.push_back(row["prediction"]);
  }
  ASSERT_EQ(texts.size(), 6u);
  EXPECT_GT(std::set(said.begin(), said.end()).size(), 1u) << "else any model answers the same";
  execution::GenerateOptions options;
  options.search.most_tokens = 12;
  EXPECT_EQ(PretrainedModel::of_recipe(recipe("m", long_enough)).generator(options).job().prefix,
            "a cat likes ");
  // Each input has the run's prefix.
  checkpoint::convert_checkpoint({.from = dir_.file("m/model"), .to = dir_.file("tf/model.ckpt")});
  checkpoint::convert_checkpoint({.from = dir_.file("tf/model.ckpt"),
                                  .to = dir_.file("again"),
                                  .form = checkpoint::ModelForm::smelt});
  for (const char* folder : {"m/model", "m/huggingface", "again"}) {
    auto answers = PretrainedModel::of_folder(dir_.file(folder)).generator(options);
    EXPECT_EQ(answers.job().prefix, "a cat likes ") << folder;
    const auto got = answers.answer(std::span<const std::string>(texts));
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(got[i].front().text, said[i]) << folder;
  }
  // --no-segment: the text is already split into words.
  text::store_segment_command(dir_.file("again/spiece.model"), "exit 4");
  LoadOptions split;
  split.tokenizer.segment_command = text::kNoSegmentCommand;
  EXPECT_FALSE(PretrainedModel::of_folder(dir_.file("again"), split)
                   .generator(options)
                   .job()
                   .encode(texts[0])
                   .empty());
}

TEST_F(TextToText, ComparesAnswersWithTheOriginalLabels) {
  std::string rows;
  for (int i = 0; i < 10; ++i)
    rows += str(R"({"source": "the cat sees )", i, R"(", "target": "{)", i,
                R"(} a dog likes the cat )", "and some birds follow it\"}\n");
  io::write_file(dir_.file("rows.jsonl"), rows);
  const std::vector<std::string> few{"data.targets_length=4", "eval.steps=1"};
  const execution::Evaluation e = run("m", few);
  EXPECT_THAT(log_.text(), HasSubstr("contain characters without a piece in the vocabulary"));
  EXPECT_EQ(e.measure("exact_match").weight, 4) << "eval.steps is one batch of four";
  EXPECT_EQ(e.measure("exact_match").value, 0);
  const std::string predictions = dir_.file("m/model/predictions.jsonl"),
                    kept = dir_.file("m/data/heldout.tfrecord.rows.jsonl");
  const std::string made = io::read_file(kept);
  std::string answered;
  int lines = 0;
  text::LineReader told(predictions);
  for (std::string line; told.next(line); ++lines) {
    auto row = Json::parse(line);
    EXPECT_THAT(row["text"].get<std::string>(), testing::StartsWith("the cat sees "));
    EXPECT_THAT(row["label"].get<std::string>(),
                testing::MatchesRegex("\\{.\\} a dog .* follow it"));
    if (lines != 1) row["label"] = str(" ", row["prediction"].get<std::string>(), " ");
    answered += row.dump() + "\n";
  }
  ASSERT_EQ(lines, 4);
  io::write_file(kept, answered);
  EXPECT_EQ(evaluate_model(recipe("m", few)).measure("exact_match").value, 0.75);

  // The metrics are stored even if generation fails.
  io::write_file(kept, "{}" + made.substr(made.find('\n')));
  io::remove_file(dir_.file("m/model/eval_results.txt"));
  EXPECT_THAT(error_of<UsageError>([&] { evaluate_model(recipe("m", few)); }),
              HasSubstr("heldout.tfrecord.rows.jsonl:1: not a row with text and label"));
  EXPECT_THAT(io::read_file(dir_.file("m/model/eval_results.txt")), HasSubstr("target_loss = "));
  io::remove_file(kept);
  (void)evaluate_model(recipe("m", few));
  EXPECT_THAT(log_.text(), HasSubstr("rows.jsonl not found: comparing answers with"));
  io::write_file(kept, made + made);
  EXPECT_THAT(error_of<UsageError>([&] { evaluate_model(recipe("m", few)); }),
              HasSubstr("rows.jsonl: 8 rows, but 4 records"));
}

TEST_F(TextToText, AnEmptyPrefixOverridesThePrefixOfTheRun) {
  run("m", {"data.prefix=a cat likes "});
  execution::GenerateOptions options;
  options.prefix = "";
  EXPECT_EQ(PretrainedModel::of_recipe(recipe("m", {"data.prefix=a cat likes "}))
                .generator(options)
                .job()
                .prefix,
            "");
}

// Answers get better while the loss gets worse, because the learning rate is too high.
TEST_F(TextToText, KeepsTheBestCheckpointByGeneratedAnswers) {
  const std::vector<std::string> settings{"train.checkpoint.best_metric=exact_match",
                                          "train.steps=40",
                                          "train.checkpoint.save_interval_steps=40",
                                          "train.optimizer.learning_rate=0.01",
                                          "train.schedule.warmup_steps=1",
                                          "model.dropout=0",
                                          "eval.every=10",
                                          "eval.best=true"};
  const execution::Evaluation e = run("m", settings);
  std::map<std::int64_t, double> matches;
  for (const evaluation::Record& record :
       evaluation::read_metrics(dir_.file("m/model/metrics.jsonl")))
    if (record.value("kind", "") == "check")
      matches[record["step"]] = record["valid"]["exact_match"];
  ASSERT_EQ(matches.size(), 4u);
  const auto best = std::ranges::max_element(matches, {}, [](const auto& m) { return m.second; });
  EXPECT_EQ(e.global_step, best->first);
  EXPECT_EQ(e.measure("exact_match").value, best->second) << "the answers of that state";
  EXPECT_GT(best->second, 0);
  EXPECT_THAT(
      error_of<UsageError>(
          [&] { run("n", {"train.checkpoint.best_metric=exact_mach", "eval.every=2"}); }),
      HasSubstr("which the evaluation does not report\n  hint: did you mean 'exact_match'?"));
}

// A run that overwrites the folder ignores its checkpoints.
TEST_F(TextToText, UsesTheSentinelsOfItsWeightsAfterOverwrite) {
  run("m", {"train.steps=1"});
  checkpoint::convert_checkpoint({.from = dir_.file("base/model"),
                                  .to = dir_.file("hf"),
                                  .form = checkpoint::ModelForm::hugging_face});
  Json config = Json::parse(io::read_file(dir_.file("hf/tokenizer_config.json")));
  config["extra_ids"] = 5;
  io::write_file(dir_.file("hf/tokenizer_config.json"), config.dump());
  const std::vector<std::string> other{"train.steps=1", "out=" + dir_.file("m"),
                                       "train.init_from=" + dir_.file("hf")};
  run_recipe(load_recipe(dir_.file("r.yaml"), other, true), {.overwrite = true});
  EXPECT_EQ(checkpoint::load_latest_state(dir_.file("m/model"))->state["extra_ids"], 5);
}

TEST_F(TextToText, ComparesAnswersWithThoseOfRandomWeights) {
  const TrialsSummary s =
      run_trials({.recipe = dir_.file("r.yaml"),
                  .settings = {"out=" + dir_.file("t"), "train.steps=2", "data.targets_length=2"},
                  .seeds = 1,
                  .grid = {},
                  .against = {},
                  .against_fresh = true,
                  .metric = {},
                  .resample = {.samples = 20}});
  EXPECT_EQ(s.metric, "accuracy");
  EXPECT_EQ(s.examples, 6u);
  EXPECT_THAT(log_.text(), HasSubstr("8 of them with answers longer than 2 tokens"));
  ASSERT_EQ(s.margins.size(), 1u);
  const auto fresh = Json::parse(io::read_file(s.against[0].folders[0] + "/model/t5_config.json"));
  EXPECT_EQ(fresh, Json::parse(io::read_file(s.trials[0].folders[0] + "/model/t5_config.json")));
}

TEST_F(TextToText, KnowsTheSentinelsOfAConvertedCheckpoint) {
  const auto known = [&](const char* weights) {
    const Recipe r = recipe("m", {"train.init_from=" + dir_.file(weights)});
    return r.program->job->task.settings.value("extra_ids", 0);
  };
  checkpoint::convert_checkpoint(
      {.from = dir_.file("base/model"), .to = dir_.file("tf/model.ckpt")});
  checkpoint::convert_checkpoint({.from = dir_.file("tf/model.ckpt"),
                                  .to = dir_.file("again"),
                                  .form = checkpoint::ModelForm::smelt});
  EXPECT_EQ(checkpoint::load_latest_state(dir_.file("again"))->state.value("extra_ids", 0), 8);
  EXPECT_EQ(known("again"), 8);
  // If the state lacks them, as in an earlier version, they are read from the file next to it.
  const checkpoint::Checkpoint silent = checkpoint::load_checkpoint(dir_.file("again"), 1);
  Json state = silent.state;
  state.erase("extra_ids");
  checkpoint::save_checkpoint(dir_.file("silent"), 1, silent.tensors, state);
  for (const char* name : {"t5_config.json", "spiece.model"})
    io::write_file(dir_.file(str("silent/", name)), io::read_file(dir_.file(str("again/", name))));
  EXPECT_EQ(known("silent"), 8);
}

TEST_F(TextToText, TreatsUnknownSentinelsAsText) {
  const std::string vocab = dir_.file("base/vocab.model");
  const execution::GenerateJob job = t5_generate_job(
      io::parse_config<model::T5Config>(
          checkpoint::load_latest_state(dir_.file("base/model"))->state["model"], ""),
      vocab, {}, 8);
  const auto pieces = text::load_tokenizer(vocab, {});
  for (const char* text : {"a dog <extra_id_999> the cat", "a <extra_id_x", "<extra_id_8>"}) {
    std::vector<std::int32_t> whole;
    pieces->encode(text, whole);
    whole.push_back(job.end);
    EXPECT_EQ(job.encode(text), whole) << text;
  }
  const auto both = job.encode("a <extra_id_9> dog <extra_id_0> the cat");
  EXPECT_EQ(std::ranges::count(both, static_cast<std::int32_t>(pieces->size()) + 7), 1);
}

// Behaves like transformers' T5Tokenizer with legacy=False.
TEST_F(TextToText, KeepsTheLegacySettingAndAddedTokensOfTheFolder) {
  for (const char* form : {"old", "new"}) {
    io::make_folders(dir_.file(form));
    io::write_file(dir_.file(str(form, "/spiece.model")),
                   io::read_file(dir_.file("base/vocab.model")));
  }
  io::write_file(dir_.file("new/tokenizer_config.json"),
                 R"({"legacy": false, "added_tokens_decoder": {"70": {"content": "covid"}}})");
  const auto pieces_of = [&](const char* form, std::string_view text) {
    const std::string vocab = dir_.file(str(form, "/spiece.model"));
    const auto config = io::parse_config<model::T5Config>(
        checkpoint::load_latest_state(dir_.file("base/model"))->state["model"], "");
    const auto pieces = text::load_tokenizer(vocab, {});
    std::string out;
    for (const std::int32_t id : t5_generate_job(config, vocab, {}, 8).encode(text))
      out += id < pieces->size() ? pieces->token(id) : "<>";
    return out;
  };
  EXPECT_EQ(pieces_of("old", "a dog <extra_id_0> the cat"), "▁a▁dog<>▁the▁cat</s>");
  EXPECT_EQ(pieces_of("new", "a dog <extra_id_0> the cat"), "▁a▁dog<>the▁cat</s>");
  EXPECT_EQ(pieces_of("new", "<extra_id_0>a"), "<>a</s>");
  EXPECT_EQ(pieces_of("new", "a covid dog"), "▁a▁<>▁dog</s>");
  // A run stores the settings of the folder and exports them.
  run("m", {"vocab.file=" + dir_.file("new/spiece.model"), "train.steps=1"});
  for (const char* vocab : {"m/vocab.model", "m/huggingface/spiece.model"}) {
    EXPECT_FALSE(text::space_signs(dir_.file(vocab)).behind_sentinels) << vocab;
    EXPECT_EQ(text::added_pieces(dir_.file(vocab)).tokens.at(0).id, 70) << vocab;
  }
  EXPECT_EQ(text::vocabulary_crc32c(dir_.file("m/vocab.model")),
            text::vocabulary_crc32c(dir_.file("new/spiece.model")));
  EXPECT_NE(text::vocabulary_crc32c(dir_.file("old/spiece.model")),
            text::vocabulary_crc32c(dir_.file("new/spiece.model")));
}

TEST_F(TextToText, ResumesBitIdentically) {
  run("whole");
  run("cut", {"train.steps=2"});
  run("cut");
  EXPECT_EQ(weights("cut"), weights("whole"));
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"data.prefix=other: ", "train.steps=6"}); }),
              HasSubstr("prefix"));
}

TEST_F(TextToText, RejectsInvalidSettings) {
  const auto refusal = [&](const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { run("refused", settings); });
  };
  GoldenClassify("bert").write_folder(dir_.file("bert"));
  EXPECT_THAT(refusal({"train.init_from=" + dir_.file("bert")}), HasSubstr("is not a T5"));
  EXPECT_THAT(
      error_of<UsageError>([&] { PretrainedModel::of_folder(dir_.file("bert")).generator({}); }),
      HasSubstr("has no decoder\n  hint: use a T5"));
  EXPECT_THAT(error_of<UsageError>([&] { run("base"); }),
              HasSubstr("base contains a run of model.type t5, but this recipe has model.type "
                        "text_to_text\n  hint: choose another folder"));
  EXPECT_THAT(refusal({"train.init_from="}),
              HasSubstr("train.init_from: no pre-trained model to fine-tune"));
  EXPECT_THAT(refusal({"train.init_from=", "model.like=" + dir_.file("base")}),
              HasSubstr("model.like needs vocab.file\n  hint: model.like only determines sizes"));
  EXPECT_THAT(refusal({"data.target=answer"}), HasSubstr("rows.jsonl:1: "));
  EXPECT_THAT(refusal({"data.train="}), HasSubstr("data.train: no texts with answers"));
  io::write_file(dir_.file("bad.jsonl"),
                 io::read_file(dir_.file("rows.jsonl")) + "{\"source\": 1}\n");
  EXPECT_THAT(refusal({"data.train=" + dir_.file("bad.jsonl")}),
              HasSubstr("1 of 15 rows cannot be read; data.max_bad is 0.01"));
}

// The tutorial of ttt as a recipe, on synthetic tweets.
TEST_F(TextToText, TrainsTheRecipeOfTheTttTutorial) {
  for (const char* part : {"train", "val"}) {
    std::string tweets;
    for (int i = 0; i < 12; ++i)
      tweets += str(R"({"text": "the cat sees )", i, R"( birds", "label": ")",
                    i % 2 == 0 ? "a dog" : "a cat", "\"}\n");
    io::write_file(dir_.file(str(part, ".json")), tweets);
  }
  const Recipe r = load_recipe(
      source_path("recipes/ttt-covid.yaml"),
      {"out=" + dir_.file("covid"), "data.train=" + dir_.file("train.json"),
       "data.validation=" + dir_.file("val.json"), "train.init_from=" + dir_.file("base"),
       "train.device=cpu", "train.devices=2", "train.batch_size=4", "train.epochs=2",
       "eval.every=3", "data.inputs_length=24", "train.optimizer.learning_rate=0.01"});
  execution::Evaluation told;
  run_recipe(r, {}, [&](const execution::Evaluation& e) { told = e; });
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("covid/model")), 6);
  EXPECT_EQ(told.measure("exact_match").weight, 12);
  std::vector<double> losses, matches;
  for (const evaluation::Record& record :
       evaluation::read_metrics(dir_.file("covid/model/metrics.jsonl")))
    if (record.value("kind", "") == "check") {
      losses.push_back(record["valid"]["target_loss"]);
      matches.push_back(record["valid"]["exact_match"]);
    }
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_LT(losses[1], losses[0] - 0.1);
  EXPECT_EQ(told.measure("exact_match").value, std::max(matches[0], matches[1])) << "of the best";
}

}  // namespace
}  // namespace smelt::pipeline
