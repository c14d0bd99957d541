// Continuous evaluation of checkpoints as they appear.
#include "execution/inference/follow.h"

#include <gmock/gmock.h>

#include <csignal>

#include "checkpoint/storage/checkpoint.h"
#include "evaluation/tracking/metrics_file.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::execution {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FollowTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::int64_t step : {1, 2, 3})
      checkpoint::save_checkpoint(dir_.path(), step, {}, {});
  }
  // Returns a job that evaluates each step once, in order.
  FollowJob job(std::optional<std::int64_t> last_step) {
    return {.model_dir = dir_.path(),
            .folder = dir_.file("eval"),
            .last_step = last_step,
            .seconds = 0.01,
            .newest = [] { return std::nullopt; },
            .next = [this](const auto& steps, bool) -> std::optional<std::int64_t> {
              for (const std::int64_t step : steps)
                if (done_.empty() || step > done_.back()) return step;
              return std::nullopt;
            },
            .evaluate =
                [this](const std::string& path) {
                  evaluated_.push_back(checkpoint::load_checkpoint(path).step);
                  return std::vector<io::Scalar>{{"eval/loss", 1.0F}};
                },
            .done = [this](std::int64_t step, const auto&) { done_.push_back(step); }};
  }
  CapturedLog log_;
  TempDir dir_;
  std::vector<std::int64_t> evaluated_, done_;
};

TEST_F(FollowTest, SkipsADamagedCheckpointAndLogsAnError) {
  io::write_file(dir_.file("checkpoint-2/manifest.json"), "{}");
  follow_checkpoints(job(3));
  EXPECT_THAT(evaluated_, ElementsAre(1, 3));
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("checkpoint-2: manifest.json is damaged"),
                                 HasSubstr("this checkpoint is not evaluated"),
                                 HasSubstr("eval: the last checkpoint, step 3, is evaluated")));
}

TEST_F(FollowTest, SkipsACheckpointThatTheRunHasDeleted) {
  FollowJob removing = job(3);
  removing.evaluate = [&](const std::string& path) {
    if (path.ends_with("-1")) checkpoint::remove_checkpoint(path);
    evaluated_.push_back(checkpoint::load_checkpoint(path).step);
    return std::vector<io::Scalar>();
  };
  follow_checkpoints(removing);
  EXPECT_THAT(evaluated_, ElementsAre(2, 3));
  EXPECT_THAT(log_.text(), HasSubstr("checkpoint-1 was removed before it was evaluated"));
}

// Deletion removes the COMMIT marker first, while the checkpoint is being read.
TEST_F(FollowTest, DoesNotReportACheckpointDeletedDuringReadingAsDamaged) {
  FollowJob removing = job(3);
  removing.evaluate = [&](const std::string& path) {
    evaluated_.push_back(checkpoint::load_checkpoint(path).step);
    if (!path.ends_with("-2")) return std::vector<io::Scalar>();
    io::remove_file(dir_.file("checkpoint-2/COMMIT"));
    throw checkpoint::DamagedCheckpoint("a file is missing", "restore it");
  };
  follow_checkpoints(removing);
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("checkpoint-2 was removed before it was evaluated"),
                                 Not(HasSubstr("a file is missing"))));
}

TEST_F(FollowTest, WarnsIfTheLastCheckpointWasSkipped) {
  io::write_file(dir_.file("checkpoint-3/manifest.json"), "{}");
  follow_checkpoints(job(3));
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("eval: the last checkpoint, step 3, was skipped"),
                                 Not(HasSubstr("step 3, is evaluated"))));
}

// An earlier call with another list of steps has not evaluated these checkpoints.
TEST_F(FollowTest, EvaluatesRemainingCheckpointsAfterTheLastStep) {
  FollowJob restarted = job(3);
  restarted.newest = [] { return 3; };
  follow_checkpoints(restarted);
  EXPECT_THAT(evaluated_, ElementsAre(1, 2, 3));
}

// The run stopped early, before its last step.
TEST_F(FollowTest, EndsIfTheRunStoppedBeforeItsLastStep) {
  evaluation::MetricsFile(dir_.path(), 0, {{"of", 9}}).add("end", 3, {{"why", "done"}});
  follow_checkpoints(job(9));
  EXPECT_THAT(evaluated_, ElementsAre(1, 2, 3));
  EXPECT_THAT(log_.text(),
              HasSubstr("eval: the run is finished and all its checkpoints are evaluated"));
}

// metrics.jsonl still has the end record of an earlier start.
TEST_F(FollowTest, IgnoresTheEndOfAnEarlierStartOfTheRun) {
  const auto say_done = [&] {
    evaluation::MetricsFile(dir_.path(), 3, {}).add("end", 3, {{"why", "done"}});
  };
  io::write_file(dir_.file(evaluation::kMetricsFile),
                 R"({"kind": "start", "step": 0, "time": 1, "of": 3})"
                 "\n"
                 R"({"kind": "end", "step": 3, "time": 2, "why": "done"})"
                 "\n");
  const io::FolderLock run(dir_.path(), "train");
  FollowJob endless = job({});
  int looks = 0;
  const auto next = endless.next;
  endless.next = [&](const auto& steps, bool run_is_done) {
    const auto step = next(steps, run_is_done);
    if (!step && ++looks == 2) checkpoint::save_checkpoint(dir_.path(), 4, {}, {});
    if (!step && looks == 3) say_done();
    return step;
  };
  follow_checkpoints(endless);
  EXPECT_THAT(evaluated_, ElementsAre(1, 2, 3, 4));
}

TEST_F(FollowTest, LocksItsFolderAndWritesTensorBoardEvents) {
  follow_checkpoints(job(3));
  EXPECT_THAT(io::list_folder(dir_.file("eval")),
              testing::Contains(testing::StartsWith("events.out.tfevents.")));
  const io::FolderLock other(dir_.file("eval"), "eval");
  EXPECT_THAT(error_of<UsageError>([&] { follow_checkpoints(job(3)); }), HasSubstr("eval"));
}

TEST_F(FollowTest, EndsOnOtherErrors) {
  FollowJob failing = job(3);
  failing.evaluate = [](const std::string&) -> std::vector<io::Scalar> {
    throw UsageError("no data");
  };
  EXPECT_EQ(error_of([&] { follow_checkpoints(failing); }), "no data");
}

TEST_F(FollowTest, EndsWithTheRunIfTheLastStepIsUnknown) {
  {
    evaluation::MetricsFile told(dir_.path(), 0, {{"of", 3}});
    told.add("end", 3, {{"why", "stopped"}});
  }
  FollowJob endless = job({});
  endless.done = [&](std::int64_t step, const auto&) {
    done_.push_back(step);
    if (step == 3)
      evaluation::MetricsFile(dir_.path(), 3, {{"of", 3}}).add("end", 3, {{"why", "done"}});
  };
  follow_checkpoints(endless);
  EXPECT_THAT(evaluated_, ElementsAre(1, 2, 3));
  EXPECT_THAT(log_.text(),
              HasSubstr("eval: the run is finished and all its checkpoints are evaluated"));
}

TEST_F(FollowTest, StopsAtASignalWithAMessage) {
  FollowJob job_to_stop = job(9);
  job_to_stop.done = [&](std::int64_t step, const auto&) {
    done_.push_back(step);
    if (step == 2) std::raise(SIGTERM);
  };
  testing::internal::CaptureStderr();
  const std::string message = error_of([&] { follow_checkpoints(job_to_stop); });
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("stopping after the current batch; the same command evaluates this checkpoint"));
  EXPECT_THAT(message,
              HasSubstr("eval: stopped by a signal, 2 checkpoints evaluated\n  hint: run"));
  EXPECT_THAT(done_, ElementsAre(1, 2));
}

}  // namespace
}  // namespace smelt::execution
