// Checkpoints during training: which ones are kept, and what happens if a save fails.
#include "train/checkpoint_manager.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <limits>
#include <map>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "runs/small_run.h"
#include "support/error_of.h"
#include "support/file_size_limit.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"

namespace smelt::train {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class SaverTest : public SmallRun {
 protected:
  // Returns a job that calls `at` after each step.
  static TrainJob with_each_step(TrainJob job, std::function<void(std::int64_t)> at) {
    job.track.log_every = 1;
    job.track.log_line = [at = std::move(at)](const LogPoint& point) {
      at(point.step);
      return std::string();
    };
    return job;
  }
  // Returns a job that evaluates and saves every 3 steps.
  TrainJob best_job(const std::string& model, std::int64_t steps) const {
    TrainJob out = job(model, steps);
    out.checkpoint.best_metric = "masked_lm_loss";
    out.validation = {.data = dir_.file("train.tfrecord"), .batch_size = 8, .steps = 2};
    out.checkpoint.save_interval_steps = out.check_every = 3;
    return out;
  }
  std::vector<std::int64_t> steps(const std::string& folder) const {
    return checkpoint::checkpoint_steps(dir_.file(folder));
  }
  Json settings(const std::string& folder, std::int64_t step) const {
    return checkpoint::checkpoint_state(checkpoint::committed_path(dir_.file(folder), step));
  }
  // Changes a checkpoint to that of an earlier version, whose regular checkpoints recorded no
  // score.
  void forget_score(std::int64_t step) const {
    const checkpoint::Checkpoint checkpoint = checkpoint::load_checkpoint(dir_.file("model"), step);
    Json state = checkpoint.state;
    state.erase("score");
    checkpoint::save_checkpoint(dir_.file("model"), step, checkpoint.tensors, state);
  }
  // Returns the contents of the model folder by path, without times.
  std::map<std::string, std::string> outputs(const std::string& model) const {
    std::map<std::string, std::string> out;
    const std::string folder = dir_.file(model);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().string().substr(folder.size() + 1);
      if (entry.is_regular_file() && !name.starts_with("train/") && name != "metrics.jsonl" &&
          name != io::kLockName)
        out[name] = io::read_file(entry.path().string());
    }
    return out;
  }
  void copy_model(const std::string& from, const std::string& to) const {
    std::filesystem::copy(dir_.file(from), dir_.file(to), std::filesystem::copy_options::recursive);
  }
  bool is_shared(const std::string& a, const std::string& b) const {
    return std::filesystem::equivalent(dir_.file(a + "/COMMIT"), dir_.file(b + "/COMMIT"));
  }
};

TEST_F(SaverTest, AFullDiskDoesNotEndTraining) {
  std::optional<FileSizeLimit> full;
  bool told = false;
  train(with_each_step(job("model", 60), [&](std::int64_t step) {
    if (step == 2) full.emplace(1000);
    told = told || log_.text().find("is not saved") != std::string::npos;
    if (told) full.reset();
  }));
  EXPECT_TRUE(told);
  EXPECT_THAT(log_.text(),
              AllOf(HasSubstr("train: the state of step 5 is not saved: write: "),
                    HasSubstr("training continues; no checkpoint was saved yet; the next save "
                              "tries again")));
  for (const std::string& name : io::list_folder(dir_.file("model")))
    EXPECT_THAT(name, Not(HasSubstr(".partial")));  // partial files are removed
  train(job("whole", 60));
  EXPECT_EQ(state("model", 60), state("whole", 60));
}

TEST_F(SaverTest, ALastSaveThatFailsIsAnError) {
  std::optional<FileSizeLimit> full;
  const TrainJob run = with_each_step(job("model", 12), [&](std::int64_t step) {
    if (step != 9) return;
    while (steps("model").empty())
      std::this_thread::yield();  // the save of step 5 may still be running
    full.emplace(1000);
  });
  const std::string message = error_of([&] { train(run); });
  full.reset();
  EXPECT_THAT(message, AllOf(HasSubstr("train: the state of step 12 is not saved: write: "),
                             HasSubstr("; the checkpoint of step 5 is intact: run the same command "
                                       "again")));
  EXPECT_EQ(message.find("hint: "), message.rfind("hint: "));
  EXPECT_EQ(train(job("model", 12)).first_step, 5);
}

TEST_F(SaverTest, TheNewestThePeriodicAndTheBestCheckpointsAreKept) {
  TrainJob run = job("model", 12);
  run.checkpoint.save_interval_steps = 2;
  run.checkpoint.max_to_keep = 2;
  run.checkpoint.keep_period = 4;
  run.checkpoint.best_metric = "loss";
  run.validation = {.data = dir_.file("train.tfrecord"), .batch_size = 8, .steps = 2};
  run.check_every = 3;
  std::int64_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  run.checked = [&](const TrainCheck& check) {
    const double loss = check.validation->loss;
    if (loss >= least) return;
    least = loss;
    best = check.step;
  };
  train(run);
  EXPECT_THAT(steps("model"), ElementsAre(10, 12));
  EXPECT_THAT(steps("model/save"), ElementsAre(4, 8, 12));
  EXPECT_THAT(steps("model/best"), ElementsAre(best));
  const auto score = settings("model/best", best)["score"];
  EXPECT_EQ(score, Json({{"name", "loss"}, {"value", least}, {"step", best}}));
  EXPECT_EQ(settings("model", 12)["score"], score);
  EXPECT_EQ(state("model/save", 12), state("model", 12));
}

// A run that was killed between the folders of a save misses none of them after it resumes.
TEST_F(SaverTest, TheModelFolderIsWrittenLast) {
  TrainJob run = best_job("model", 6);
  run.checkpoint.keep_period = 3;
  train(run);
  const auto best = steps("model/best");
  ASSERT_EQ(best.size(), 1u);
  EXPECT_TRUE(is_shared("model/save/checkpoint-6", "model/checkpoint-6"));
  for (const char* later : {"", "save/"})
    io::remove_tree(dir_.file(str("model/", later, "checkpoint-6")));
  train(run);
  EXPECT_THAT(steps("model/save"), ElementsAre(3, 6));
  EXPECT_EQ(steps("model/best"), best);
}

// The model folder cannot be written for step 3; the other folders still get the state.
TEST_F(SaverTest, SavesInBestAndSaveIfTheModelFolderFails) {
  TrainJob run = best_job("model", 3);
  run.checkpoint.keep_period = 3;
  io::write_file(dir_.file("model/checkpoint-3/notes.txt"), "of somebody else");
  EXPECT_THAT(error_of([&] { train(run); }), HasSubstr("the state of step 3 is not saved: "));
  EXPECT_THAT(steps("model/save"), ElementsAre(3));
  EXPECT_THAT(steps("model/best"), ElementsAre(3));
  EXPECT_TRUE(is_shared("model/save/checkpoint-3", "model/best/checkpoint-3"));
  EXPECT_THAT(steps("model"), ElementsAre());
}

TEST_F(SaverTest, AFailureInBestOrSaveDoesNotAffectTheOtherFolders) {
  TrainJob run = best_job("model", 3);
  run.checkpoint.keep_period = 3;
  for (const auto& [name, said, other] :
       {std::tuple("best", "as the best", "save"), std::tuple("save", "in save/", "best")}) {
    run.model_dir = dir_.file(name);
    io::write_file(io::join_path(run.model_dir, name), "not a folder");
    EXPECT_THAT(error_of([&] { train(run); }),
                AllOf(HasSubstr(str("train: the state of step 3 is not saved ", said, ": ")),
                      HasSubstr("the checkpoint of step 3 is intact")));
    EXPECT_THAT(checkpoint::checkpoint_steps(run.model_dir), ElementsAre(3));
    EXPECT_THAT(steps(str(name, "/", other)), ElementsAre(3));
  }
}

// The last step is not a multiple of the save interval.
TEST_F(SaverTest, AFailedSaveOfTheLastBestStateIsAnError) {
  TrainJob run = best_job("model", 6);
  run.checkpoint.save_interval_steps = 5;
  io::write_file(dir_.file("model/best"), "not a folder");
  EXPECT_THAT(error_of([&] { train(run); }),
              HasSubstr("train: the state of step 6 is not saved as the best: "));
  EXPECT_THAT(steps("model"), ElementsAre(5, 6));
}

TEST_F(SaverTest, IgnoresABestScoreWhoseStateWasNotSaved) {
  TrainJob run = best_job("model", 9);
  run.config.schedule.learning_rate = 0;  // no later evaluation is better than the lost one
  std::optional<FileSizeLimit> full;
  run.checked = [&](const TrainCheck& check) {
    if (check.step == 3) full.emplace(1000);
    if (check.step == 6) full.reset();
  };
  train(run);  // waits for the previous save before it evaluates again
  EXPECT_THAT(log_.text(), HasSubstr("the state of step 3 is not saved"));
  EXPECT_THAT(steps("model/best"), ElementsAre(6));
}

// A resumed run must not expect a state that best/ does not have.
TEST_F(SaverTest, ACheckpointDoesNotRecordABestThatWasNotSaved) {
  TrainJob run = best_job("model", 3);
  io::write_file(dir_.file("model/best"), "not a folder");
  EXPECT_THAT(error_of([&] { train(run); }), HasSubstr("the checkpoint of step 3 is intact"));
  EXPECT_EQ(settings("model", 3)["score"], Json({{"name", "masked_lm_loss"}}));
}

// A run that was killed before its first evaluation does not use the best state of an earlier run.
TEST_F(SaverTest, IgnoresTheBestStateOfAnEarlierRunInTheFolder) {
  TrainJob run = best_job("model", 3);
  train(run);
  io::remove_tree(dir_.file("model/checkpoint-3"));
  run.checkpoint.save_interval_steps = 1;
  run.checked = [&](const TrainCheck&) { copy_model("model", "killed"); };
  train(run);
  for (const std::int64_t later : steps("killed"))
    if (later > 2) io::remove_tree(checkpoint::committed_path(dir_.file("killed"), later));
  const checkpoint::Checkpoint best = checkpoint::load_checkpoint(dir_.file("killed/best"), 3);
  Json state = best.state;
  state["score"] = {{"name", "masked_lm_loss"}, {"value", 0}, {"step", 1}};
  checkpoint::save_checkpoint(dir_.file("killed/best"), 1, best.tensors, state);
  run.model_dir = dir_.file("killed");
  run.checked = {};
  EXPECT_EQ(train(run).best_step, 3);
  EXPECT_THAT(steps("killed/best"), ElementsAre(3));
}

TEST_F(SaverTest, KeepsThePreviousBestIfTheSaveOfARollbackTargetFails) {
  TrainJob run = best_job("model", 8);
  run.check_every = 1;
  run.checkpoint.max_to_keep = 1;
  run.config.spikes.action = model::SpikeAction::rewind;
  io::write_file(dir_.file("model/checkpoint-6/notes.txt"), "of somebody else");
  train(run);
  EXPECT_THAT(log_.text(), HasSubstr("the state of step 6 is not saved"));
  EXPECT_THAT(steps("model"), ElementsAre(3, 8));
  EXPECT_THAT(steps("model/best"), ElementsAre(3, 8));
  run.model_dir = dir_.file("resumed");
  copy_model("model", "resumed");
  train(run);
  EXPECT_THAT(steps("resumed/best"), ElementsAre(3, 8));
}

// Copies the folder during an evaluation, when no save is running, so that the copy is what a
// killed run leaves.
TEST_F(SaverTest, AKilledRunEndsWithTheBestStatesAndPatienceOfAnUninterruptedOne) {
  TrainJob run = best_job("whole", 14);
  run.check_every = 1;
  run.checkpoint.save_interval_steps = run.checkpoint.keep_period = 5;
  run.checkpoint.max_to_keep = 2;
  run.early_stopping.patience = 3;
  run.checked = [&](const TrainCheck& check) {
    if (check.step == 9 || check.step == 13) copy_model("whole", str("killed-", check.step));
  };
  const TrainSummary whole = train(run);
  ASSERT_GT(whole.best_step, 9);  // the evaluations of steps 6 to 8 were each the best
  for (const char* killed : {"killed-9", "killed-13"}) {
    TrainJob again = run;
    again.model_dir = dir_.file(killed);
    again.checked = {};
    const TrainSummary summary = train(again);
    EXPECT_EQ(summary.last_step, whole.last_step) << killed;
    EXPECT_EQ(summary.best_step, whole.best_step) << killed;
    EXPECT_EQ(outputs(killed), outputs("whole")) << killed;
  }
}

// The run would resume from a checkpoint before the best one.
TEST_F(SaverTest, KeepsTheBestStateOfTheLatestCheckpointUntilTheNext) {
  TrainJob run = best_job("model", 7);
  run.check_every = 1;
  std::vector<std::vector<std::int64_t>> kept;
  run.checked = [&](const TrainCheck&) { kept.push_back(steps("model/best")); };
  train(run);
  using Steps = std::vector<std::int64_t>;
  EXPECT_THAT(
      kept, ElementsAre(Steps(), Steps{1}, Steps{2}, Steps{3}, Steps{3, 4}, Steps{3, 5}, Steps{6}));
  EXPECT_THAT(steps("model/best"), ElementsAre(7));
}

TEST_F(SaverTest, RemovesRemainsOfKilledSavesEvenIfNoStepIsLeft) {
  TrainJob run = best_job("model", 3);
  run.checkpoint.keep_period = 3;
  train(run);
  const auto before = outputs("model");
  checkpoint::save_checkpoint(dir_.file("model/best"), 2, {}, {});
  for (const char* place : {"best", "save"}) {
    checkpoint::save_checkpoint(dir_.file(str("model/", place)), 6, {}, {});
    io::write_file(dir_.file(str("model/", place, "/checkpoint-9.partial-0123456789abcdef/COMMIT")),
                   "");
  }
  train(run);
  EXPECT_EQ(outputs("model"), before);
}

TEST_F(SaverTest, KeepsCopiesOfASkippedDamagedCheckpoint) {
  TrainJob run = best_job("model", 6);
  run.checkpoint.keep_period = 6;
  train(run);
  ASSERT_THAT(steps("model/save"), ElementsAre(6));
  io::remove_file(dir_.file("model/checkpoint-6/manifest.json"));
  run.config.schedule.total_steps = 3;
  train(run);
  EXPECT_THAT(steps("model/save"), ElementsAre(6));
}

TEST_F(SaverTest, RestoresAMissingBestStateFromTheModelFolderIfPossible) {
  TrainJob run = best_job("model", 3);
  run.config.schedule.learning_rate = 0;  // no later evaluation is better
  run.checkpoint.max_to_keep = 1;
  train(run);
  const auto before = outputs("model");
  io::remove_file(dir_.file("model/best/checkpoint-3/manifest.json"));
  train(run);
  EXPECT_THAT(log_.text(), HasSubstr("manifest.json is missing\n  hint: "));
  EXPECT_EQ(outputs("model"), before);
  run.config.schedule.total_steps = 6;
  train(run);
  EXPECT_THAT(steps("model/best"), ElementsAre(3));
  io::remove_tree(dir_.file("model/best"));
  run.config.schedule.total_steps = 9;
  train(run);
  EXPECT_THAT(log_.text(), HasSubstr("train: the best state, that of step 3, is in neither "));
  EXPECT_THAT(steps("model/best"), ElementsAre(9));
}

TEST_F(SaverTest, AcceptsTheBestStateOfAnEarlierVersion) {
  const std::string score = dir_.file("model/best/score.json");
  const auto told = [](std::int64_t step) {
    return str(R"({"name": "masked_lm_accuracy", "value": 2, "step": )", step, "}");
  };
  TrainJob run = best_job("model", 3);
  run.checkpoint.best_metric = "masked_lm_accuracy";
  train(run);
  forget_score(3);
  checkpoint::save_checkpoint(dir_.file("model/best"), 3, {}, Json::object());
  io::write_file(score, told(3));
  run.config.schedule.total_steps = 6;
  train(run);
  EXPECT_THAT(steps("model/best"), ElementsAre(3));
  forget_score(6);
  io::write_file(score, told(2));  // of another step: the run was killed before it was written
  run.config.schedule.total_steps = 9;
  train(run);
  EXPECT_THAT(steps("model/best"), ElementsAre(9));
  EXPECT_FALSE(io::exists(score));
}

TEST_F(SaverTest, ChangesNothingInALocalFolderWhoseLockItHasLost) {
  const TrainJob run = with_each_step(job("model", 60), [&](std::int64_t step) {
    if (step != 2) return;
    std::filesystem::rename(dir_.file("model"), dir_.file("moved"));
    checkpoint::save_checkpoint(dir_.file("model"), 3, {}, {});
    io::write_file(dir_.file("model/smelt.lock"), "process 1 on host other");
  });
  EXPECT_THAT(error_of([&] { train(run); }),
              HasSubstr("model: its lock smelt.lock was removed or replaced while this process"));
  EXPECT_THAT(io::list_folder(dir_.file("model")), ElementsAre("checkpoint-3", "smelt.lock"));
  EXPECT_EQ(checkpoint::load_checkpoint(dir_.file("model"), 3).state, Json());
}

// The evaluation of the last step, which a signal interrupted, is still to be made.
TEST_F(SaverTest, RepeatsAnEvaluationThatASignalInterrupted) {
  std::vector<std::int64_t> checked;
  TrainJob run = best_job("model", 6);
  run.checked = [&](const TrainCheck& check) { checked.push_back(check.step); };
  const TrainJob cut = with_each_step(run, [](std::int64_t step) {
    if (step == 6) std::raise(SIGTERM);
  });
  EXPECT_THAT(error_of([&] { train(cut); }), HasSubstr("stopped by a signal at step 6 of 6"));
  EXPECT_THAT(checked, ElementsAre(3));
  train(run);
  EXPECT_THAT(checked, ElementsAre(3, 6));
  train(run);  // evaluates once
  EXPECT_THAT(checked, ElementsAre(3, 6));
}

TEST_F(SaverTest, RejectsABestMetricThatIsNotReported) {
  TrainJob run = job("model", 3);
  run.checkpoint.best_metric = "masked_lm_los";
  EXPECT_THAT(error_of([&] { train(run); }),
              HasSubstr("train: train.checkpoint.best_metric is 'masked_lm_los', which the "
                        "evaluation does not report"));
  run.validation = {.data = dir_.file("train.tfrecord"), .batch_size = 8, .steps = 2};
  EXPECT_THAT(error_of([&] { train(run); }), HasSubstr("did you mean 'masked_lm_loss'?"));
}

TEST_F(SaverTest, SavesByElapsedTime) {
  TrainJob run = job("model", 3);
  run.checkpoint.save_interval_steps = 100;
  run.checkpoint.max_to_keep = 0;
  run.checkpoint.save_interval_minutes = 1e-9;
  train(run);
  EXPECT_THAT(steps("model"), ElementsAre(1, 2, 3));
}

TEST_F(SaverTest, HonorsTheResumeMode) {
  TrainJob run = job("model", 2);
  run.begin = ResumeMode::resume;
  EXPECT_THAT(
      error_of([&] { train(run); }),
      HasSubstr(str("train: ", run.model_dir, " contains no checkpoint to resume\n  hint: ")));
  EXPECT_FALSE(io::exists(run.model_dir));
  run.begin = ResumeMode::fresh;
  train(run);
  EXPECT_THAT(log_.text(),
              HasSubstr("train: new run in " + run.model_dir + ", with random initial we"));
  EXPECT_THAT(error_of([&] { train(run); }),
              HasSubstr("model/checkpoint-2 exists, but --fresh requires a new run\n  hint: "));
  run.overwrite = true;
  TrainJob below = job("model/v2", 1);
  train(below);
  EXPECT_THAT(
      error_of<UsageError>([&] { train(run); }),
      HasSubstr("model/v2 is the folder of another model and would be removed with everything"));
  EXPECT_EQ(checkpoint::latest_checkpoint(below.model_dir), 1);
  io::remove_tree(below.model_dir);
  EXPECT_EQ(train(run).first_step, 0);
  run = job("model", 3);
  run.begin = ResumeMode::resume;
  EXPECT_EQ(train(run).first_step, 2);
}

class SaverInABucket : public SaverTest {
 protected:
  void SetUp() override {
    REQUIRE_ORACLE();
    SaverTest::SetUp();
    emulator_ = std::make_unique<GcsEmulator>();
  }
  TrainJob in_bucket(std::int64_t steps) const {
    TrainJob out = job("", steps);
    out.model_dir = emulator_->path("model");
    return out;
  }
  void expect_in_bucket(const std::map<std::string, std::vector<float>>& want, std::int64_t step) {
    const auto newest = checkpoint::load_latest_checkpoint(emulator_->path("model"));
    ASSERT_TRUE(newest);
    EXPECT_EQ(newest->step, step);
    for (const auto& [name, values] : want)
      EXPECT_EQ(io::tensor_values<float>(newest->tensors.at(name)), values) << name;
  }
  std::unique_ptr<GcsEmulator> emulator_;
};

TEST_F(SaverInABucket, ToleratesASlowStoreThatTruncatesResponses) {
  emulator_->fault(R"([{"match": "POST /upload.*checkpoint", "do": "delay 0.3", "times": 3},
                       {"match": "POST /upload.*checkpoint", "do": "cut", "skip": 4, "times": 2},
                       {"match": "DELETE .*checkpoint", "do": "delay 0.2", "times": 2}])");
  TrainJob run = in_bucket(9);
  run.checkpoint.save_interval_steps = 3;
  run.checkpoint.max_to_keep = 1;
  run.checkpoint.keep_period = 6;
  train(run);
  run.config.schedule.total_steps = 12;
  emulator_->fault(R"([{"match": "GET .*alt=media", "do": "cut"}])");
  EXPECT_THAT(error_of([&] { train(run); }),
              HasSubstr(" bytes at offset 0, expected 34 bytes\n  hint: run the"));
  EXPECT_EQ(train(run).first_step, 9);
  TrainJob whole = job("whole", 9);
  train(whole);
  whole.config.schedule.total_steps = 12;
  train(whole);
  expect_in_bucket(state("whole", 12), 12);
  EXPECT_THAT(checkpoint::checkpoint_steps(run.model_dir), ElementsAre(12));
  EXPECT_FALSE(io::exists(io::join_path(run.model_dir, io::kLockName)));
  EXPECT_THAT(checkpoint::checkpoint_steps(io::join_path(run.model_dir, "save")),
              ElementsAre(6, 12));
}

TEST_F(SaverInABucket, TrainingContinuesWhileTheStoreRefusesWrites) {
  emulator_->fault(R"([{"match": "POST /upload.*COMMIT", "do": "status 403", "times": 1}])");
  TrainJob run = in_bucket(12);
  train(run);
  EXPECT_THAT(log_.text(),
              AllOf(HasSubstr("train: the state of step 5 is not saved: write: gs://bucket/model/"
                              "checkpoint-5/COMMIT: permission storage.objects.create"),
                    HasSubstr("training continues")));
  EXPECT_THAT(checkpoint::checkpoint_steps(run.model_dir), ElementsAre(10, 12));
  EXPECT_FALSE(io::exists(io::join_path(run.model_dir, "checkpoint-5/manifest.json")));
  train(job("whole", 12));
  expect_in_bucket(state("whole", 12), 12);
}

TEST_F(SaverInABucket, PublishesNothingInAFolderWhoseLockItHasLost) {
  io::LockOwner rival = io::LockOwner::this_process();
  rival.machine = "elsewhere";
  TrainJob run = with_each_step(in_bucket(6), [&](std::int64_t step) {
    if (step == 2)
      io::write_file(emulator_->path("model/smelt.lock/0"), str("held\n", rival.text()));
  });
  EXPECT_THAT(error_of([&] { train(run); }), HasSubstr("another process has locked this folder"));
  EXPECT_THAT(checkpoint::checkpoint_steps(run.model_dir), testing::IsEmpty());
}

TEST_F(SaverInABucket, RejectsASecondRunOnTheFolder) {
  const io::FolderLock other(emulator_->path("model"), "train");
  TrainJob run = in_bucket(1);
  run.accepted = [] { FAIL() << "it is too late then"; };
  EXPECT_THAT(error_of([&] { train(run); }),
              HasSubstr("train: " + run.model_dir + " is in use by process "));
}

TEST_F(SaverInABucket, ReportsAReadOnlyBucketBeforeCompiling) {
  emulator_->fault(R"([{"match": "POST /upload", "do": "status 403", "times": 9}])");
  EXPECT_THAT(error_of([&] { train(in_bucket(1)); }),
              AllOf(HasSubstr("gs://bucket/model/smelt.lock/"),
                    HasSubstr("permission storage.objects.create"), HasSubstr("anonymous")));
  EXPECT_THAT(log_.text(), Not(HasSubstr("compiling")));
}

}  // namespace
}  // namespace smelt::train
