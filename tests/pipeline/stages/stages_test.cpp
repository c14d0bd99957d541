// Tests of the dependencies between stages: regenerated, deleted or damaged outputs make later
// stages run again.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "checkpoint/storage/checkpoint.h"
#include "data/input_pipeline/record_source.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/estimate/dry_run.h"
#include "pipeline/incremental/stage.h"
#include "pipeline/small_recipe.h"
#include "pipeline/stages/evaluation.h"
#include "support/error_of.h"

namespace smelt::pipeline {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Stages : public SmallRecipe {
 protected:
  std::map<std::string, std::string> fresh_export(const Recipe& r) const {
    export_model(r, dir_.file("fresh"));
    auto out = files("fresh");
    io::remove_tree(dir_.file("fresh"));
    return out;
  }
  void expect_finished(const std::vector<std::string>& stages) const {
    for (const std::string& stage : stages)
      EXPECT_EQ(said(stage + ": up to date"), 1) << stage << "\n" << log_.text();
  }
};

TEST_F(Stages, ReRunsEvaluationAndExportAfterASeparateTraining) {
  const Recipe r = recipe();
  std::vector<execution::Evaluation> told;
  run_recipe(r, {}, [&](const execution::Evaluation& e) { told.push_back(e); });
  const auto before = files("m/huggingface");
  train_model(recipe({"train.steps=4"}));
  run_recipe(r, {}, [&](const execution::Evaluation& e) { told.push_back(e); });
  expect_finished({"text", "vocab", "data"});
  EXPECT_THAT(io::read_file(dir_.file("m/model/eval_results.txt")),
              StartsWith("global_step = 4\n"));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].global_step, 4);
  EXPECT_NE(files("m/huggingface"), before);
  EXPECT_EQ(files("m/huggingface"), fresh_export(r));
}

// A checkpoint that another process has written since is ignored.
TEST_F(Stages, EvaluatesAndExportsTheLastStepOfTraining) {
  const auto add_later = [&](std::int64_t step) {
    const checkpoint::Checkpoint last = checkpoint::load_checkpoint(dir_.file("m/model"), 2);
    checkpoint::save_checkpoint(dir_.file("m/model"), step, last.tensors, last.state);
  };
  run_recipe(recipe(), {}, [&](const execution::Evaluation& e) {
    EXPECT_EQ(e.global_step, 2);
    add_later(3);
  });
  EXPECT_EQ(said("huggingface contains step 2 "), 1);
}

TEST_F(Stages, RejectsOtherSettingsForAFinishedRunAndKeepsItsRecipe) {
  run_recipe(recipe());
  const auto kept = [&] { return io::read_file(dir_.file("m/recipe.yaml")); };
  const std::string before = kept();
  EXPECT_THAT(
      error_of<UsageError>([&] { run_recipe(recipe({"train.optimizer.learning_rate=0.5"})); }),
      HasSubstr("train.optimizer.learning_rate was 0.0001, is 0.5"));
  const auto stages = files("m/.stages");
  EXPECT_THAT(
      error_of<UsageError>([&] {
        run_recipe(recipe(
            {"train.checkpoint.max_to_keep=2", "train.optimizer.type=adamw", "eval.every=1"}));
      }),
      AllOf(HasSubstr("m is finished at step 2 of 2, so these settings would have no effect: "
                      "train.checkpoint.max_to_keep was 5, is 2; "
                      "train.optimizer.type was bert_adamw, is adamw; eval.every was 0, "
                      "is 1\n  hint: train.optimizer.type cannot change after the first "
                      "checkpoint; for a new model, add --set out=FOLDER")));
  EXPECT_EQ(files("m/.stages"), stages);
  EXPECT_THAT(
      error_of<UsageError>([&] { dry_run_text(recipe({"train.checkpoint.max_to_keep=2"})); }),
      HasSubstr(
          "train.checkpoint.max_to_keep was 5, is 2\n  hint: to continue training with them, add "
          "--set train.steps=4; for a new model, add --set out=FOLDER"));
  run_recipe(recipe({"train.memory.layers=scan",
                     "train.logging_steps=1"}));  // settings that evaluation uses may change
  EXPECT_EQ(said("eval: started again: train.memory.layers was \"auto\", is \"scan\""), 1);
  const std::string again = kept();
  run_recipe(recipe({"train.steps=1"}));
  EXPECT_EQ(said("beyond train.steps 1: no steps are left"), 1);
  EXPECT_EQ(kept(), again);
  run_recipe(recipe({"eval.batch_size=1"}));
  EXPECT_THAT(kept(), HasSubstr("batch_size: 1\n"));
}

TEST_F(Stages, AssumesTheDefaultForFieldsThatARecordLacks) {
  run_recipe(recipe());
  for (const char* stage : {"vocab", "data"}) {
    const std::string path = dir_.file(str("m/.stages/", stage, ".json"));
    Json record = Json::parse(io::read_file(path));
    ASSERT_TRUE(record["settings"]["vocab"].contains("segment_command"));
    record["settings"]["vocab"].erase("segment_command");
    io::write_file(path, record.dump());
  }
  run_recipe(recipe());
  EXPECT_EQ(said("vocab: up to date"), 1);
  EXPECT_EQ(said("data: up to date"), 1);
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(recipe({"vocab.segment_command=cat"})); }),
              HasSubstr("vocab.segment_command was \"\", is \"cat\""));
}

TEST_F(Stages, LongerRunLogsHowTheLearningRateContinues) {
  run_recipe(recipe({"train.schedule.warmup_steps=0"}));
  run_recipe(recipe({"train.schedule.warmup_steps=0", "train.steps=8", "train.logging_steps=2"}));
  EXPECT_EQ(said("train: started again: train.logging_steps was 1, is 2; train.steps was 2, is 8"),
            1);
  EXPECT_EQ(
      said("train.steps was 2, is 8: the learning rate continues at 7.50e-05, it was 5.00e-05 "
           "at step 2\n"),
      1);
  run_recipe(recipe({"train.schedule.warmup_steps=0", "train.steps=80", "train.logging_steps=2"}));
  EXPECT_EQ(
      said("train.steps was 8, is 80: the learning rate continues at 9.00e-05, it was 1.25e-05 "
           "at step 8; a rate that rises again can undo what was learned: a lower "
           "train.optimizer.learning_rate or train.schedule.type constant avoids the rise\n"),
      1);
}

TEST_F(Stages, EvaluatesAgainIfTheModelIsTrainedAgain) {
  const Recipe r = recipe();
  run_recipe(r);
  run_recipe(r, {.begin = train::ResumeMode::fresh, .overwrite = true});
  expect_finished({"text", "vocab", "data", "export"});
  EXPECT_EQ(files("m/huggingface"), fresh_export(r));
  EXPECT_EQ(said("eval: started again"), 1);
}

TEST_F(Stages, RegeneratesDeletedOrDamagedOutputsAndChecksLaterStages) {
  const Recipe r = recipe();
  run_recipe(r);
  const auto before = files("m/huggingface");
  const std::string records = io::read_file(dir_.file("m/data/train.tfrecord"));
  io::remove_file(dir_.file("m/data/train.tfrecord"));
  run_recipe(r);
  EXPECT_EQ(io::read_file(dir_.file("m/data/train.tfrecord")), records);
  EXPECT_EQ(said("data: started again: its output is missing"), 1);
  expect_finished({"train", "eval", "export"});  // the records have the same content

  const std::string vocab = io::read_file(dir_.file("m/vocab.txt"));
  io::write_file(dir_.file("m/vocab.txt"), "[PAD]\n");
  io::write_file(dir_.file("m/huggingface/config.json"), "{");
  run_recipe(r);
  EXPECT_EQ(said("vocab: started again: its output has changed"), 1);
  EXPECT_EQ(io::read_file(dir_.file("m/vocab.txt")), vocab);
  EXPECT_EQ(files("m/huggingface"), before);
  EXPECT_EQ(said("export: started again: its output has changed"), 1);
}

TEST_F(Stages, ProducesTheSameBytesIfKilledBetweenStages) {
  const Recipe r = recipe();
  run_recipe(r);
  const auto model = files("m/model/checkpoint-2"), exported = files("m/huggingface");
  for (const char* stage : {"train", "eval", "export"}) forget_stage(r.out, stage);
  io::remove_tree(dir_.file("m/huggingface"));
  run_recipe(r);
  EXPECT_EQ(files("m/model/checkpoint-2"), model);
  EXPECT_EQ(files("m/huggingface"), exported);
}

TEST_F(Stages, RejectsChangedTextWithTwoHints) {
  run_recipe(recipe());
  const auto size = io::file_size(dir_.file("text.txt"));
  write_text(13);
  const std::string message = error_of<UsageError>([&] { run_recipe(recipe()); });
  EXPECT_THAT(message,
              AllOf(HasSubstr(str("text: ", dir_.file("text.txt"), " was ", size, " bytes, is ",
                                  io::file_size(dir_.file("text.txt")), " bytes")),
                    HasSubstr("--set out=…"),
                    HasSubstr(str("--set train.init_from=", dir_.file("m/model"),
                                  " --set vocab.file=", dir_.file("m/vocab.txt")))));
  write_text(12);
  const auto with = [&](const char* names) { return recipe({"text.input=" + dir_.file(names)}); };
  io::remove_tree(dir_.file("m"));
  run_recipe(with("t*.txt"));
  io::write_file(dir_.file("t2.txt"), "another text\n");
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(with("t*.txt")); }),
              HasSubstr(str("text had 1 input file, has 2: ", dir_.file("t2.txt"), " is new")));
  io::remove_tree(dir_.file("m"));
  run_recipe(with("t*.txt"));
  io::remove_file(dir_.file("t2.txt"));
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(with("t*.txt")); }),
              HasSubstr(str("has 1: ", dir_.file("t2.txt"), " is missing")));
}

TEST_F(Stages, ComparesACopiedFolderByContent) {
  run_recipe(recipe());
  fs::copy(dir_.file("m"), dir_.file("copy"), fs::copy_options::recursive);
  for (const char* path : {"copy/text/train.txt", "copy/vocab.txt", "copy/data/train.tfrecord"})
    fs::last_write_time(dir_.file(path), fs::file_time_type::clock::now());
  const Recipe copy = recipe({"out=" + dir_.file("copy")});
  run_recipe(copy);
  expect_finished({"text", "vocab", "data", "train", "eval", "export"});
  const auto notes = files("copy/.stages");
  run_recipe(copy);
  EXPECT_EQ(files("copy/.stages"), notes);
  std::string text = io::read_file(dir_.file("copy/text/train.txt"));
  text[0] = text[0] == 'x' ? 'y' : 'x';
  io::write_file(dir_.file("copy/text/train.txt"), text);
  run_recipe(copy);
  EXPECT_EQ(said("text: started again: its output has changed"), 1);
}

TEST_F(Stages, AcceptsMovedTextAndContinuesWithoutDeletedText) {
  run_recipe(recipe());
  fs::create_directory(dir_.file("moved"));
  fs::rename(dir_.file("text.txt"), dir_.file("moved/text.txt"));
  const auto with = [&](const char* names, const char* steps) {
    return recipe({"text.input=" + dir_.file(names), str("train.steps=", steps)});
  };
  run_recipe(with("moved/*.txt", "2"));
  expect_finished({"text", "vocab", "data"});
  io::write_file(dir_.file("moved/text.txt"),
                 std::string(io::file_size(dir_.file("moved/text.txt")), 'x'));
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(with("moved/*.txt", "2")); }),
              HasSubstr(str("text: ", dir_.file("moved/text.txt"), " has changed")));
  io::remove_file(dir_.file("moved/text.txt"));
  EXPECT_THAT(dry_run_text(with("moved/*.txt", "4")), HasSubstr("using the files made from them"));
  run_recipe(with("moved/*.txt", "4"));
  EXPECT_EQ(said("text: " + dir_.file("moved/*.txt") + " is missing; using the files"), 1);
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("m/model")), 4);
  io::remove_file(dir_.file("m/text/train.txt"));
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(with("moved/*.txt", "4")); }),
              HasSubstr("text.input: no file matches"));
}

TEST_F(Stages, EvaluatesFewExamplesInOneSmallerBatch) {
  const Recipe r = recipe({"eval.batch_size=1000", "eval.every=1"});
  run_recipe(r);
  const auto held_out = static_cast<std::int64_t>(
      data::RecordSource({.input = RecipePaths(r).heldout_records, .features = {}}).size());
  EXPECT_EQ(evaluate_model(r).examples, held_out);
  EXPECT_THAT(log_.text(), HasSubstr(str("in 1 batch of ", held_out)));
}

TEST_F(Stages, ComparesAnEvaluationWithItsBaseline) {
  const Recipe r = recipe();
  const auto sentence = [&](double model, double baseline) {
    return verdict(r.type->baseline, {.measures = {{"masked_lm_accuracy", model, 1000},
                                                   {"majority_token_accuracy", baseline, 1000}}});
  };
  EXPECT_EQ(
      sentence(0.5, 0.2),
      "verdict: good: masked_lm_accuracy 50.0 %, clearly better than the baseline's 20.0 % (always "
      "the most frequent token)");
  for (const double equal : {0.2, 0.15})
    EXPECT_THAT(sentence(equal, 0.2),
                AllOf(HasSubstr("verdict: not yet trained: masked_lm_accuracy "),
                      HasSubstr(" %, not clearly better than the baseline's 20.0 % ("),
                      HasSubstr("): train longer (train.steps), or give more text")));
  EXPECT_EQ(
      sentence(0.22, 0.2),
      "verdict: not certain: masked_lm_accuracy 22.0 %, better than the baseline's 20.0 % (always "
      "the most frequent token), but within 3 standard errors: evaluate more examples, or "
      "train longer");
  EXPECT_THAT(
      sentence(0.05, 0.2),
      AllOf(HasSubstr(
                "verdict: not yet trained: masked_lm_accuracy 5.0 %, worse than the baseline's"),
            HasSubstr("): check train.optimizer.learning_rate ")));
  EXPECT_THAT(
      verdict(r.type->baseline, {.measures = {{"masked_lm_accuracy", 0.2, 99},
                                              {"majority_token_accuracy", 0.2, 99}}}),
      HasSubstr("verdict: not certain: masked_lm_accuracy 20.0 %, against the baseline's 20.0 % "
                "(always the most frequent token), of 99 held-out items only: hold out more"));
  EXPECT_THAT(verdict(r.type->baseline,
                      {.measures = {{"masked_lm_accuracy", 0.2, 1000},
                                    {"majority_token_accuracy", 0.2, 1000}}},
                      true),
              HasSubstr("): give more text or examples, or a lower train.optimizer.learning_rate"));
  EXPECT_EQ(verdict(r.type->baseline, {.measures = {{"masked_lm_accuracy", 0.5, 1000}}}), "");
}

TEST_F(Stages, RestoresAnEvaluationWithTheSameVerdict) {
  const Recipe r = recipe();
  const execution::Evaluation measured{
      .global_step = 7,
      .examples = 40,
      .loss = 2.5,
      .measures = {{"masked_lm_accuracy", 0.5, 1000}, {"majority_token_accuracy", 0.2, 1000}}};
  execution::Evaluation read = evaluation_of_json(evaluation_json(measured));
  EXPECT_EQ(read.global_step, 7);
  EXPECT_EQ(read.examples, 40);
  EXPECT_EQ(verdict(r.type->baseline, read), verdict(r.type->baseline, measured));
  EXPECT_EQ(is_clearly_better(r.type->baseline, read), true);
  read.measures[0].value = read.measures[1].value = 0.2;
  EXPECT_EQ(is_clearly_better(r.type->baseline, read), false);
  read.measures.pop_back();
  EXPECT_EQ(is_clearly_better(r.type->baseline, read), std::nullopt);
}

TEST_F(Stages, DetectsDivergence) {
  const auto course = [](double best, double last) {
    return LossTrend{.best = {200, best}, .last = {230, last}};
  };
  EXPECT_TRUE(has_diverged(course(7.1, 1.5e7)));
  EXPECT_TRUE(has_diverged(course(0.3, 1.4)));
  EXPECT_TRUE(has_diverged(course(7.1, std::nan(""))));
  EXPECT_FALSE(has_diverged(course(7.1, 9)));
  EXPECT_FALSE(has_diverged(course(0.001, 0.5)));  // one easy batch does not count as divergence
  EXPECT_EQ(divergence_verdict(course(7.1, 1.5e7), {.loss = 1.5e7, .measures = {}}, 1000),
            "verdict: diverged: training loss 7.10 at step 200, 15 million at step 230: start a "
            "new run (--set out=FOLDER) with a train.optimizer.learning_rate below 1e+03");
  EXPECT_THAT(divergence_verdict({}, {.loss = std::nan(""), .measures = {}}, 1e-4),
              HasSubstr("verdict: diverged: the evaluation's loss is not finite"));
  EXPECT_EQ(divergence_verdict({}, {.loss = 3, .measures = {}}, 1e-4), "");
  const model::MeasuredValue huge{.name = "masked_lm_loss", .value = 12312.4, .weight = 1};
  EXPECT_THAT(divergence_verdict({}, {.loss = 12313, .measures = {huge}}, 10),
              HasSubstr("verdict: diverged: the evaluation's loss is "));
}

TEST_F(Stages, ReportsARisingHeldOutLoss) {
  const auto check = [](int step, double loss) {
    return str("{\"kind\":\"check\",\"step\":", step,
               ",\"time\":1,\"train\":{},\"valid\":{\"masked_lm_loss\":", loss, "}}\n");
  };
  const std::string model = dir_.file("m/model");
  EXPECT_EQ(overfitting_remark(model), "");
  const std::string start = "{\"kind\":\"start\",\"step\":0,\"time\":1,\"of\":9}\n";
  io::write_file(model + "/metrics.jsonl", str(start, check(3, 2.0), check(6, 2.05)));
  EXPECT_EQ(overfitting_remark(model), "");
  io::write_file(model + "/metrics.jsonl", str(start, check(3, 2.0), check(6, 2.5)));
  EXPECT_THAT(
      overfitting_remark(model),
      HasSubstr(
          "the held-out masked_lm_loss was lowest at step 3 (2.000) and is 2.500 at step 6: "));
}

TEST_F(Stages, ReadsTheLossesOfARunFromItsLog) {
  EXPECT_FALSE(loss_course(dir_.file("m/model")));
  const Recipe r = recipe({"train.optimizer.learning_rate=20", "train.schedule.warmup_steps=0",
                           "train.steps=6", "train.optimizer.clip_norm=0"});
  std::string report;
  run_recipe(r, {}, [&](const execution::Evaluation& e) { report = evaluation_report(r, e); });
  EXPECT_THAT(report, HasSubstr("verdict: diverged: "));
  EXPECT_THAT(report, HasSubstr("typical for a hidden size of 8, "));
  const auto course = loss_course(dir_.file("m/model"));
  ASSERT_TRUE(course);
  EXPECT_EQ(course->last.step, 6);
  EXPECT_GT(course->last.value, course->best.value);
}

}  // namespace
}  // namespace smelt::pipeline
