// Checks of a model folder that is used again: one process at a time, the same vocabulary; warnings
// about changed settings.
#include "execution/train_state/resume.h"

#include <gmock/gmock.h>

#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "runs/small_run.h"
#include "support/error_of.h"

namespace smelt::execution {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using ResumeTest = SmallRun;

TEST_F(ResumeTest, RejectsAModelFolderInWhichAnotherProcessTrains) {
  const io::FolderLock other(dir_.file("model"), "train");
  EXPECT_THAT(error_of([&] { train::train(job("model", 1)); }),
              HasSubstr("train: " + dir_.file("model") + " is in use by process "));
}

TEST_F(ResumeTest, WarnsAboutAChangedScheduleOfAResumedRun) {
  train::train(job("model", 1));
  train::TrainJob changed = job("model", 2);
  changed.config.schedule.learning_rate = 1e-4;
  changed.config.schedule.warmup_steps = 0;
  train::train(changed);
  EXPECT_THAT(log_.text(),
              HasSubstr("checkpoint-1: train.optimizer.learning_rate was 0.001, is 0.0001; "
                        "train.schedule.warmup_steps was 2, is 0\n"));
  changed.config.schedule.total_steps = 3;
  train::train(changed);
  EXPECT_THAT(log_.text(), Not(HasSubstr("checkpoint-2: ")));
}

TEST_F(ResumeTest, FinishesRemovalsOfCheckpointsAfterTheLastStep) {
  train::TrainJob run = job("model", 3);
  run.checkpoint = {.save_interval_steps = 1, .max_to_keep = 3};
  train::train(run);
  io::remove_file(dir_.file("model/checkpoint-1/COMMIT"));  // its removal was interrupted
  run.checkpoint.max_to_keep = 1;                           // that of checkpoint 2 had not begun
  train::train(run);
  EXPECT_THAT(io::list_folder(dir_.file("model")), Not(Contains(StartsWith("checkpoint-2"))));
  EXPECT_FALSE(io::exists(dir_.file("model/checkpoint-1")));
  EXPECT_TRUE(io::exists(dir_.file("model/checkpoint-3/COMMIT")));
}

// 2 of 4 steps with power 2: the rate was (1/2)^2 after step 1 (counted from 0: 1 - 1/4 = 3/4).
TEST(RateChange, ComparesWithTheSavedDecay) {
  const model::Schedule now{.learning_rate = 1, .total_steps = 8, .power = 1};
  const Json saved{
      {"schedule", {{"learning_rate", 1.0}, {"lr_decay_power", 2.0}, {"total_steps", 4}}}};
  const auto change = rate_change(saved, now, 2, recipe_field);
  ASSERT_TRUE(change);
  EXPECT_THAT(change->text, HasSubstr("continues at 7.50e-01, it was 5.62e-01 at step 2"));
}

TEST(SameRun, AcceptsLabelsInAnyUnicodeNormalization) {
  check_same_run({{"labels", {"cafe\u0301", "no"}}}, {{"labels", {"caf\u00E9", "no"}}}, "here");
  EXPECT_THAT(error_of([] {
                check_same_run({{"labels", {"cafe", "no"}}}, {{"labels", {"caf\u00E9", "no"}}},
                               "here");
              }),
              HasSubstr("here: was made with data.labels"));
}

TEST_F(ResumeTest, RequiresTheVocabularyOfTheModel) {
  io::remove_file(dir_.file("train.tfrecord.json"));  // its vocabulary would be compared first
  save_first_weights("old");                          // as from a version that did not record it
  train::TrainJob run = job("model", 0);
  run.vocab = dir_.file("vocab.txt");
  io::write_file(run.vocab, io::read_file(vocab()));
  train::train(run);
  EvaluateJob eval = evaluation("model");
  eval.vocab = run.vocab;
  EXPECT_EQ(evaluate(eval).global_step, 0);
  io::write_file(run.vocab, "[PAD]\n");
  const std::string other =
      "checkpoint-0: " + run.vocab + " is not the vocabulary that the model was made with: its crc";
  EXPECT_THAT(error_of([&] { train::train(run); }), HasSubstr(other));
  EXPECT_THAT(error_of([&] { evaluate(eval); }), HasSubstr(other));
  run.model_dir = dir_.file("old");
  EXPECT_EQ(error_of([&] { train::train(run); }), "no error");
}

}  // namespace
}  // namespace smelt::execution
