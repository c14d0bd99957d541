// Evaluation within a training run.
#include <gmock/gmock.h>

#include <cmath>
#include <csignal>

#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/folder.h"
#include "runs/small_run.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "train/initial_state.h"

namespace smelt::train {
namespace {

using testing::HasSubstr;

class ValidationTest : public SmallRun {
 protected:
  // Returns a job that evaluates every 2 steps and saves every 3.
  TrainJob checked_job(const std::string& model, std::int64_t steps) {
    TrainJob out = job(model, steps);
    out.validation = {.data = out.data, .batch_size = 8, .steps = 3};
    out.check_every = 2;
    out.checkpoint.save_interval_steps = 3;
    out.checked = [this](const TrainCheck& check) { checks_.push_back(check); };
    return out;
  }
  std::vector<TrainCheck> checks_;
};

void expect_equal(const execution::Evaluation& got, const execution::Evaluation& want) {
  EXPECT_EQ(got.global_step, want.global_step);
  EXPECT_EQ(got.examples, want.examples);
  EXPECT_EQ(got.loss, want.loss);
  ASSERT_EQ(got.measures.size(), want.measures.size());
  for (std::size_t i = 0; i < got.measures.size(); ++i) {
    EXPECT_EQ(got.measures[i].name, want.measures[i].name);
    EXPECT_EQ(got.measures[i].value, want.measures[i].value);
  }
}

TEST_F(ValidationTest, MatchesAnEvaluationOfTheCheckpoint) {
  train(checked_job("m", 7));
  ASSERT_EQ(checks_.size(), 4u);  // at steps 2, 4, 6 and the last
  EXPECT_EQ(checks_[1].step, 4);
  EXPECT_EQ(checks_[3].step, 7);
  execution::EvaluateJob job = evaluation("m");
  job.steps = 3;
  expect_equal(*checks_[3].validation, execution::evaluate(job));
  job.model_dir = dir_.file("m/checkpoint-6");
  expect_equal(*checks_[2].validation, execution::evaluate(job));
}

TEST_F(ValidationTest, DoesNotChangeTraining) {
  train(checked_job("with", 6));
  train(job("without", 6));
  EXPECT_EQ(state("with", 6), state("without", 6));
}

TEST_F(ValidationTest, IsTheSameOnSeveralDevices) {
  TrainJob job = checked_job("two", 2);
  job.on.devices = 2;
  train(job);
  execution::EvaluateJob alone = evaluation("two");
  alone.steps = 3;
  const execution::Evaluation want = execution::evaluate(alone);
  ASSERT_TRUE(checks_.back().validation);
  EXPECT_NEAR(checks_.back().validation->loss, want.loss, 1e-5);
}

TEST_F(ValidationTest, LogsTheScalesOfParameters) {
  train(checked_job("m", 3));
  const auto values = state("m", 3);
  std::size_t seen = 0;
  for (const execution::ParameterScale& p : checks_.back().parameters) {
    double sum = 0;
    for (const float x : values.at(p.name)) sum += static_cast<double>(x) * x;
    EXPECT_NEAR(p.rms, std::sqrt(sum / static_cast<double>(values.at(p.name).size())), 1e-12);
    ++seen;
  }
  EXPECT_EQ(3 * seen, values.size());  // including Adam's two moments
}

TEST_F(ValidationTest, AKilledAndResumedRunLogsTheSame) {
  train(checked_job("whole", 6));
  const auto whole = std::move(checks_);
  checks_.clear();
  train(checked_job("killed", 6));
  io::remove_tree(dir_.file("killed/checkpoint-6"));  // as if it had been killed after step 3
  checks_.clear();
  train(checked_job("killed", 6));
  ASSERT_EQ(checks_.size(), 2u);
  EXPECT_EQ(checks_[0].first_step, 3);
  expect_equal(*checks_[1].validation, *whole[2].validation);
  EXPECT_EQ(checks_[1].trained[0].value, whole[2].trained[0].value);
}

TEST_F(ValidationTest, ARepeatedEvaluationHasNoTrainingMetricsOfUnseenSteps) {
  train(checked_job("m", 3));
  checkpoint::Checkpoint cut = checkpoint::load_checkpoint(dir_.file("m"), 3);
  cut.state[kUnchecked] = true;
  checkpoint::save_checkpoint(dir_.file("m"), 3, cut.tensors, cut.state);
  const TrainCheck whole = std::exchange(checks_, {}).back();
  const CapturedLog log;
  train(checked_job("m", 3));
  ASSERT_EQ(checks_.size(), 1u);
  expect_equal(*checks_[0].validation, *whole.validation);
  EXPECT_TRUE(checks_[0].trained.empty());
  EXPECT_THAT(log.text(), testing::AllOf(HasSubstr("valid/masked_lm_loss at step 3: "),
                                         testing::Not(HasSubstr("train/masked_lm_loss"))));
}

TEST_F(ValidationTest, AFailedEvaluationLosesNoStepAndIsRepeated) {
  TrainJob out = checked_job("m", 5);
  out.checkpoint.save_interval_steps = 100;
  out.checked = [](const TrainCheck& check) {
    if (check.step == 4) throw SystemError("the held-out data are gone");
  };
  EXPECT_THAT(error_of([&] { train(out); }), HasSubstr("the held-out data are gone"));
  EXPECT_THAT(checkpoint::checkpoint_steps(dir_.file("m")), testing::ElementsAre(4));
  EXPECT_EQ(train(checked_job("m", 5)).first_step, 4);
  ASSERT_EQ(checks_.size(), 2u);
  EXPECT_EQ(checks_[0].step, 4);
}

TEST_F(ValidationTest, ASignalInTheLastEvaluationIsReported) {
  TrainJob out = checked_job("m", 2);
  out.checked = [](const TrainCheck&) { std::raise(SIGTERM); };
  EXPECT_TRUE(train(out).signalled);
  EXPECT_FALSE(train(checked_job("n", 2)).signalled);
}

TEST_F(ValidationTest, SavesTheInitialAndEveryPeriodicState) {
  TrainJob out = checked_job("m", 6);
  out.save_first = true;
  out.checkpoint.max_to_keep = 1;
  out.checkpoint.keep_period = 3;
  out.names = checkpoint::CheckpointNames::jestimator;
  out.checkpoint.save_interval_steps = 2;
  train(out);
  EXPECT_EQ(checkpoint::checkpoint_steps(dir_.file("m")), std::vector<std::int64_t>{6});
  EXPECT_EQ(checkpoint::checkpoint_steps(dir_.file("m/save")), std::vector<std::int64_t>{6});
  EXPECT_TRUE(io::exists(dir_.file("m/checkpoint_6")));
  train([&] {
    TrainJob none = checked_job("n", 0);
    none.save_first = true;
    return none;
  }());
  EXPECT_EQ(checkpoint::checkpoint_steps(dir_.file("n")), std::vector<std::int64_t>{0});
}

TEST_F(ValidationTest, ResumingFromAnOlderCheckpointRemovesLaterOnes) {
  train(job("m", 10));
  ASSERT_THAT(checkpoint::checkpoint_steps(dir_.file("m")), testing::ElementsAre(5, 10));
  TrainJob back = job("m", 6);
  back.resume_from = dir_.file("m/checkpoint-5");
  train(back);
  EXPECT_THAT(checkpoint::checkpoint_steps(dir_.file("m")), testing::ElementsAre(5, 6));
  EXPECT_EQ(train(job("m", 7)).first_step, 6);
}

TEST_F(ValidationTest, RejectsATooLargeBatchBeforeTheFirstStep) {
  TrainJob out = checked_job("m", 2);
  out.validation->as_original = true;  // drops an incomplete last batch
  out.validation->batch_size = 100000;
  EXPECT_THAT(error_of([&] { train(out); }),
              testing::AllOf(HasSubstr("examples, fewer than one batch of 100000"),
                             HasSubstr("lower eval.batch_size")));
  EXPECT_TRUE(checks_.empty());
}

}  // namespace
}  // namespace smelt::train
