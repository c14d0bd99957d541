// model.type text_to_text in a recipe: a T5 that was pre-trained on text, fine-tuned on rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "recipe/evaluation.h"
#include "recipe/objective_type.h"
#include "recipe/pipeline.h"
#include "recipe/stored_answers.h"
#include "runs/golden_classify.h"
#include "store/file.h"
#include "store/folder.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "text/lines.h"

namespace smelt {
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
    write_file(dir_.file("text.txt"), text);
    write_file(
        dir_.file("t5.yaml"),
        str("out: ", dir_.file("base"), "\ntext: {input: ", dir_.file("text.txt"),
            ", sentences: lines, dedup: none, heldout: 0.3}\n"
            "vocab: {type: unigram, size: 60}\ndata: {inputs_length: 24, extra_ids: 8}\n"
            "model: {type: t5, d_model: 16, d_kv: 4, d_ff: 16, num_layers: 1, num_heads: 2}\n"
            "train: {batch_size: 4, steps: 1}\neval: {batch_size: 4}\n"));
    run_recipe(load_recipe(dir_.file("t5.yaml"), {}));
    std::string rows;
    for (int i = 0; i < 14; ++i)
      rows += str(R"({"source": "the cat sees )", i, R"( birds", "target": ")",
                  i % 2 == 0 ? "a dog" : "some birds follow a small river and a dog", "\"}\n");
    write_file(dir_.file("rows.jsonl"), rows);
    write_file(dir_.file("r.yaml"),
               str("data: {train: ", dir_.file("rows.jsonl"),
                   ", inputs_length: 24, targets_length: 12, validation_share: 0.4}\n"
                   "model: {type: text_to_text}\ntrain: {init: ",
                   dir_.file("base"),
                   ", batch_size: 4, steps: 4, save_every: 2, log_every: 4}\n"
                   "eval: {batch_size: 4}\n"));
  }
  Recipe recipe(const std::string& out, std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + dir_.file(out));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  Evaluation run(const std::string& out, const std::vector<std::string>& settings = {}) const {
    Evaluation told;
    run_recipe(recipe(out, settings), {}, [&](const Evaluation& e) { told = e; });
    return told;
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

// A batch of one row of two is filled up.
TEST_F(TextToText, RowsThatFillABatchUpCountInNoLoss) {
  run("m", {"model.loss_over=examples"});
  const auto scored = [&](const char* batch) {
    return evaluate_model(
        recipe("m", {"model.loss_over=examples", str("eval.batch_size=", batch)}));
  };
  const Evaluation e = scored("3"), filled = scored("4");
  EXPECT_EQ(filled.examples, 6);
  EXPECT_EQ(filled.measure("target_loss").weight, 6);
  EXPECT_NEAR(filled.measure("target_loss").value, e.measure("target_loss").value, 1e-4);
  EXPECT_NEAR(filled.loss, e.loss, 1e-4);
}

TEST_F(TextToText, IsFineTunedEvaluatedOnEveryRowAndAnswersTheSameFromItsFolders) {
  const Evaluation e = run("m", {"data.prefix=a cat likes "});
  EXPECT_EQ(e.examples, 6);
  EXPECT_EQ(e.measure("exact_match").weight, 6);
  EXPECT_THAT(log_.text(), HasSubstr("8 examples to train on, 6 held out"));
  EXPECT_THAT(log_.text(), HasSubstr("of them of longer answers than 12 tokens"));
  // A batch of one row of two is filled up: the same loss in other batches.
  const Evaluation again =
      evaluate_model(recipe("m", {"data.prefix=a cat likes ", "eval.batch_size=5"}));
  EXPECT_NEAR(again.measure("target_loss").value, e.measure("target_loss").value, 1e-5);
  EXPECT_EQ(again.measure("target_loss").weight, e.measure("target_loss").weight);
  std::vector<std::string> texts, said;
  LineReader lines(dir_.file("m/model/predictions.jsonl"));
  for (std::string line; lines.next(line);) {
    const auto row = nlohmann::json::parse(line);
    EXPECT_THAT(row["text"].get<std::string>(), testing::StartsWith("the cat sees "));
    texts.push_back("a cat likes " + row["text"].get<std::string>());
    said.push_back(row["prediction"]);
  }
  ASSERT_EQ(texts.size(), 6u);
  GenerateOptions options;
  options.search.most_tokens = 12;
  for (const char* folder : {"m/model", "m/huggingface"}) {
    auto answers = StoredAnswers("generate", dir_.file(folder), {}).generator(options);
    const auto got = answers.answer(std::span<const std::string>(texts));
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(got[i].front().text, said[i]) << folder;
  }
}

TEST_F(TextToText, AnswersAreHeldToTheLabelsAsTheyAreWritten) {
  std::string rows;
  for (int i = 0; i < 10; ++i)
    rows += str(R"({"source": "the cat sees )", i, R"(", "target": "{)", i,
                R"(} a dog likes the cat )", "and some birds follow it\"}\n");
  write_file(dir_.file("rows.jsonl"), rows);
  const std::vector<std::string> few{"data.targets_length=4", "eval.steps=1"};
  const Evaluation e = run("m", few);
  EXPECT_THAT(log_.text(), HasSubstr("hold what the vocabulary has no piece for"));
  EXPECT_EQ(e.measure("exact_match").weight, 4) << "eval.steps is one batch of four";
  EXPECT_EQ(e.measure("exact_match").value, 0);
  const std::string predictions = dir_.file("m/model/predictions.jsonl"),
                    kept = dir_.file("m/data/heldout.tfrecord.rows.jsonl");
  std::string answered;
  int lines = 0;
  LineReader told(predictions);
  for (std::string line; told.next(line); ++lines) {
    auto row = nlohmann::json::parse(line);
    EXPECT_THAT(row["text"].get<std::string>(), testing::StartsWith("the cat sees "));
    EXPECT_THAT(row["label"].get<std::string>(),
                testing::MatchesRegex("\\{.\\} a dog .* follow it"));
    if (lines != 1) row["label"] = str(" ", row["prediction"].get<std::string>(), " ");
    answered += row.dump() + "\n";
  }
  ASSERT_EQ(lines, 4);
  write_file(kept, answered);
  EXPECT_EQ(evaluate_model(recipe("m", few)).measure("exact_match").value, 0.75);

  // The scored figures are kept, whatever becomes of the answers.
  write_file(kept, "{}\n");
  remove_file(dir_.file("m/model/eval_results.txt"));
  EXPECT_THAT(error_of<UsageError>([&] { evaluate_model(recipe("m", few)); }),
              HasSubstr("heldout.tfrecord.rows.jsonl:1: no row of the record beside it"));
  EXPECT_THAT(read_file(dir_.file("m/model/eval_results.txt")), HasSubstr("target_loss = "));
  remove_file(kept);
  (void)evaluate_model(recipe("m", few));
  EXPECT_THAT(log_.text(), HasSubstr("rows.jsonl is not there: answers are compared with"));
}

TEST_F(TextToText, GoesOnAsIfItHadNeverStopped) {
  run("whole");
  run("cut", {"train.steps=2"});
  run("cut");
  EXPECT_EQ(weights("cut"), weights("whole"));
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"data.prefix=other: ", "train.steps=6"}); }),
              HasSubstr("prefix"));
}

TEST_F(TextToText, WhatDoesNotFitIsSaid) {
  const auto refusal = [&](const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { run("refused", settings); });
  };
  GoldenClassify("bert").write_folder(dir_.file("bert"));
  EXPECT_THAT(refusal({"train.init=" + dir_.file("bert")}), HasSubstr("is no T5"));
  EXPECT_THAT(refusal({"train.init="}), HasSubstr("train.init: no pre-trained model to fine-tune"));
  EXPECT_THAT(refusal({"data.target=answer"}), HasSubstr("rows.jsonl:1: "));
  EXPECT_THAT(refusal({"data.train="}), HasSubstr("data.train: no texts with answers"));
}

// The tutorial of ttt as a recipe, on tweets that are made up.
TEST_F(TextToText, TheTutorialOfTttLearns) {
  for (const char* part : {"train", "val"}) {
    std::string tweets;
    for (int i = 0; i < 12; ++i)
      tweets += str(R"({"text": "the cat sees )", i, R"( birds", "label": ")",
                    i % 2 == 0 ? "a dog" : "a cat", "\"}\n");
    write_file(dir_.file(str(part, ".json")), tweets);
  }
  const Recipe r =
      load_recipe(source_path("recipes/ttt-covid.yaml"),
                  {"out=" + dir_.file("covid"), "data.train=" + dir_.file("train.json"),
                   "data.validation=" + dir_.file("val.json"), "train.init=" + dir_.file("base"),
                   "train.device=cpu", "train.devices=2", "train.batch_size=4", "train.epochs=2",
                   "eval.every=3", "data.inputs_length=24", "train.learning_rate=0.01"});
  Evaluation told;
  run_recipe(r, {}, [&](const Evaluation& e) { told = e; });
  EXPECT_EQ(latest_checkpoint(dir_.file("covid/model")), 6);
  EXPECT_EQ(told.measure("exact_match").weight, 12);
}

}  // namespace
}  // namespace smelt
