// Non-finite steps change nothing and are saved for a replay; updates of loss spikes are skipped or
// rolled back; moving averages of weights.
#include "model/train_step/step_guard.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "compiler/ops/ops.h"
#include "data/input_pipeline/example_source.h"
#include "evaluation/tracking/run_record.h"
#include "io/filesystem/path.h"
#include "model/nn/layers.h"
#include "runs/small_run.h"
#include "support/error_of.h"
#include "train/bad_batch.h"
#include "train/job_program.h"
#include "train/rewind.h"

namespace smelt::model {

using compiler::Compare;
using compiler::compare;
using compiler::convert;
using compiler::DType;
using compiler::full_like;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::sqrt;
using compiler::Tensor;
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kNever = 1'000'000;

// If `bad` (from step and batch) is 1, `worse` replaces the sum of the loss.
using Bad = std::function<Tensor(Tensor step, const Inputs& in)>;
using Worse = std::function<Tensor(Tensor sum, Tensor bad)>;
// Predicts the next-sentence label by a linear function of the masked tokens' ids; compiles
// quickly.
Objective line(const Scope& root, const Inputs& in, const Bad& bad, const Worse& worse) {
  const Tensor x = convert(in["masked_lm_ids"], DType::f32) * 0.01;
  const Tensor y = convert(in["next_sentence_labels"], DType::f32);
  const Tensor guess = dense(root / "line", x, 1, {.value = 0.5});
  Tensor sum = reduce_sum(square(reshape(guess, y.dims()) - y), {0});
  if (root.random_source())
    sum = worse(sum, bad(convert(root.random_source()->step, DType::f32), in));
  return {.losses = {{.name = "square_error",
                      .sum = sum,
                      .weight = full_like(sum, static_cast<double>(y.dim(0)))}},
          .metrics = {}};
}

Bad at_step(double step) {
  return [step](Tensor t, const Inputs&) {
    return convert(compare(t, full_like(t, step), Compare::eq), DType::f32);
  };
}

// A finite loss with a non-finite gradient: d sqrt(x) at 0.
Tensor without_gradient(Tensor sum, Tensor bad) { return sum + 0.0 * sqrt(sum * (1.0 - bad)); }

Tensor a_hundredfold(Tensor sum, Tensor bad) { return sum * (1.0 + 99.0 * bad); }

class StepGuardTest : public SmallRun {
 protected:
  train::TrainJob line_job(const std::string& model, std::int64_t steps,
                           const Bad& bad = at_step(-1),
                           const Worse& worse = without_gradient) const {
    train::TrainJob out = job(model, steps);
    out.task.objective = [=](const Scope& root, const Inputs& in) {
      return line(root, in, bad, worse);
    };
    return out;
  }
  train::TrainJob broken(const std::string& model, double step) const {
    return line_job(model, 20, at_step(step));
  }
  execution::EvaluateJob evaluation_of(const train::TrainJob& run) const {
    execution::EvaluateJob out = evaluation("model");
    out.task = run.task;
    return out;
  }

  Json settings(const std::string& model, std::int64_t step) const {
    return checkpoint::load_checkpoint(dir_.file(model), step).state;
  }

  void expect_resumed_alike(const train::TrainJob& whole, std::int64_t cut, std::int64_t last) {
    const std::string name = io::path_name(whole.model_dir), again = str(name, "-from-", cut);
    cut_back(whole.model_dir, dir_.file(again), cut);
    train::TrainJob resumed = whole;
    resumed.model_dir = dir_.file(again);
    train::train(resumed);
    EXPECT_EQ(state(again, last), state(name, last)) << cut;
    EXPECT_EQ(settings(again, last), settings(name, last)) << cut;
  }
};

TEST_F(StepGuardTest, NonFiniteStepDoesNotChangeTheStateAndIsSaved) {
  const train::TrainJob bad = broken("model", 6);
  const std::string message = error_of([&] { train::train(bad); }),
                    folder = dir_.file("model/bad-batch-7");
  EXPECT_THAT(message, AllOf(HasSubstr("train: at step 7 the loss is "),
                             HasSubstr("the first non-finite tensor of the backward pass is the "
                                       "gradient of line/bias; 2 of 2 gradients are not finite; "),
                             HasSubstr("its batch and the state before it are in " + folder),
                             HasSubstr("hint: lower train.optimizer.learning_rate"),
                             HasSubstr("the checkpoint of step 5 is intact")));
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("model")), 5);

  EXPECT_EQ(train::newest_bad_batch(dir_.file("model")), folder);

  const train::GradientReport report = train::replay(bad, folder);
  EXPECT_TRUE(std::isfinite(report.loss));
  EXPECT_FALSE(std::isfinite(report.norm));
  EXPECT_EQ(report.not_finite(), 2);
  EXPECT_THAT(report.first_not_finite(), HasSubstr("gradient of line/bias"));
  const train::GradientReport healthy = train::replay(broken("x", kNever), folder);
  EXPECT_EQ(healthy.not_finite(), 0);
  EXPECT_EQ(healthy.first_not_finite(), "all gradients are finite");
  EXPECT_FLOAT_EQ(healthy.loss, report.loss);
}

// The saved batch and state reproduce the step that the run would have taken.
TEST_F(StepGuardTest, SavesTheStateBeforeTheNonFiniteStep) {
  train::TrainJob bad = broken("model", 6), fine = broken("fine", kNever);
  fine.checkpoint.save_interval_steps = 6;
  error_of([&] { train::train(bad); });
  train::train(fine);
  auto kept = state("model/bad-batch-7", 6);
  std::erase_if(kept, [](const auto& item) { return item.first.starts_with("run/"); });
  EXPECT_EQ(kept, state("fine", 6));
}

TEST_F(StepGuardTest, ReplayRequiresABatchOfTheModel) {
  train::train(line_job("model", 0));
  const train::TrainJob run = line_job("model", 2);
  EXPECT_EQ(error_of([&] { train::newest_bad_batch(run.model_dir); }),
            str("replay: ", run.model_dir,
                " contains no bad-batch-<step>\n  hint: a run that stops at a non-finite step "
                "writes one there; to use another folder, pass --batch FOLDER"));
  EXPECT_THAT(error_of([&] { train::replay(run, run.model_dir); }),
              HasSubstr("checkpoint-0 contains no batch\n  hint: pass the bad-batch folder"));
  EXPECT_THAT(error_of([&] { train::replay(run, dir_.file("none")); }),
              HasSubstr("none does not exist\n  hint: pass the bad-batch folder of this model"));
}

// All gradients are then NaN; the replay reports their origin.
TEST_F(StepGuardTest, ReplayReportsAStateThatWasAlreadyNonFinite) {
  const train::TrainJob bad = broken("model", 6);
  error_of([&] { train::train(bad); });
  checkpoint::Checkpoint kept =
      checkpoint::load_checkpoint(train::newest_bad_batch(bad.model_dir), 6);
  const std::vector<float> nan{std::nanf("")};
  kept.tensors.at("line/bias").data = std::as_bytes(std::span(nan));
  checkpoint::save_checkpoint(dir_.file("spoilt"), 6, kept.tensors, kept.state);
  EXPECT_EQ(train::replay(bad, dir_.file("spoilt")).first_not_finite(),
            "the first tensor that is not finite is line/bias, before the step");
}

TEST_F(StepGuardTest, FreezesParametersAndClipsGradientElements) {
  train::TrainJob run = line_job("model", 1);
  run.config.rules = {{"rates", parse_rules("rates", "line/bias = 0")}, {}};
  run.config.clip_norm = 0;
  run.config.clip_value = 1e-3;
  run.config.schedule.warmup_steps = 0;
  run.save_first = true;
  train::train(run);
  const auto before = state("model", 0), after = state("model", 1);
  EXPECT_EQ(after.at("line/bias"), before.at("line/bias"));
  EXPECT_EQ(after.at("line/bias/adam_m"), before.at("line/bias/adam_m"));
  EXPECT_NE(after.at("line/kernel"), before.at("line/kernel"));
  for (const float m : after.at("line/kernel/adam_m")) EXPECT_NEAR(std::abs(m), 1e-4, 1e-10);
  run.config.rules = {};
  EXPECT_THAT(
      error_of([&] { train::train(run); }),
      HasSubstr("was made with train.optimizer.rate_rules [\"line/bias = 0\"], this run has []"));
}

TEST_F(StepGuardTest, AveragesFollowTheWeightsAndAreEvaluated) {
  train::TrainJob run = line_job("model", 4);
  run.config.ema_decay = 0.75;
  run.checkpoint.save_interval_steps = 1;
  run.save_first = true;
  train::train(run);
  const std::string name = "line/kernel";
  std::vector<float> average = state("model", 0).at(name);
  EXPECT_EQ(state("model", 0).at("ema/" + name), average);
  for (std::int64_t step = 1; step <= 4; ++step) {
    const auto now = state("model", step);
    for (std::size_t i = 0; i < average.size(); ++i) {
      average[i] = 0.75f * average[i] + 0.25f * now.at(name)[i];
      ASSERT_NEAR(now.at("ema/" + name)[i], average[i], 1e-7) << step;
    }
  }
  expect_resumed_alike(run, 2, 4);
  execution::EvaluateJob averaged = evaluation_of(run), plain = averaged;
  plain.averaged = false;
  EXPECT_NE(execution::evaluate(averaged).loss, execution::evaluate(plain).loss);
  EXPECT_THAT(log_.text(), HasSubstr("checkpoint-4: using the moving averages of the weights"));
}

TEST_F(StepGuardTest, AveragesScoreTheSameDuringAndAfterTraining) {
  train::TrainJob run = line_job("model", 3);
  run.config.ema_decay = 0.9;
  run.validation = {.data = run.data, .batch_size = 8, .averages = true};
  run.check_every = 3;
  double loss = 0;
  run.checked = [&](const train::TrainCheck& check) { loss = check.validation->loss; };
  train::train(run);
  EXPECT_EQ(loss, execution::evaluate(evaluation_of(run)).loss);
}

TEST_F(StepGuardTest, SkipsTheUpdateOfASpike) {
  train::TrainJob run = line_job("model", 12, at_step(8), a_hundredfold);
  run.config.spikes = {.action = SpikeAction::skip, .window = 4, .sigmas = 20};
  run.config.ema_decay = 0.9;
  run.checkpoint.save_interval_steps = 1;
  run.checkpoint.max_to_keep = 20;
  train::train(run);
  auto before = state("model", 8), after = state("model", 9);
  EXPECT_NE(before.at("run/losses"), after.at("run/losses"));
  before.erase("run/losses");
  after.erase("run/losses");
  EXPECT_EQ(before, after);
  EXPECT_EQ(settings("model", 12)["skipped_steps"], Json({9}));
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("train: the loss of step 9, "),
                                 HasSubstr(", is a spike: its update is skipped")));
  expect_resumed_alike(run, 7, 12);
}

TEST_F(StepGuardTest, ResumedRunCanEnableSpikeDetection) {
  train::TrainJob run = line_job("model", 3);
  train::train(run);
  run = line_job("model", 12, at_step(8), a_hundredfold);
  run.config.spikes = {.action = SpikeAction::skip, .window = 4, .sigmas = 20};
  train::train(run);  // all four losses of the window are known before step 8
  EXPECT_EQ(settings("model", 12)["skipped_steps"], Json({9}));
}

// A run of 12 steps that rolls back because of a spike in the batch of step 9.
class RollbackTest : public StepGuardTest {
 protected:
  train::TrainJob spiking_job() const {
    train::TrainJob run = job("model", 12);
    const auto source = data::open_examples(
        {.input = run.data, .features = run.task.features, .seed = run.config.seed});
    const auto sum_of = [&](std::uint64_t number) {
      const data::Batch batch = source->batch(number, 8);
      const auto ids = batch.arrays[0].values<std::int32_t>();
      return std::accumulate(ids.begin(), ids.end(), 0.0);
    };
    const std::string first = run.task.features[0].name;
    const double marked = sum_of(8);
    for (const std::uint64_t other : {4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15})
      EXPECT_NE(sum_of(other), marked);
    const Bad in_batch = [=](Tensor, const Inputs& in) {
      const Tensor ids = convert(in[first], DType::f32), sum = reduce_sum(ids, {0, 1});
      return convert(compare(sum, full_like(sum, marked), Compare::eq), DType::f32);
    };
    run.task = line_job("model", 12, in_batch, a_hundredfold).task;
    run.config.spikes = {.action = SpikeAction::rewind, .window = 4, .sigmas = 20};
    return run;
  }
};

TEST_F(RollbackTest, RollbackSkipsTheDataOfTheSpike) {
  const train::TrainJob run = spiking_job();
  train::train(run);
  EXPECT_THAT(log_.text(),
              AllOf(HasSubstr("is a spike"), HasSubstr("checkpoint-5, skipping 4 batches")));
  EXPECT_EQ(settings("model", 12)["rewinds"], Json::parse(R"([{"step": 5, "batches": 4}])"));
  expect_resumed_alike(run, 5, 12);
  expect_resumed_alike(run, 10, 12);
}

// Evaluations and checkpoints of steps 6 to 9 belong to the abandoned part of the run.
TEST_F(RollbackTest, RollbackRestoresBestStatesAndPatience) {
  train::TrainJob run = spiking_job();
  run.validation = {.data = run.data, .batch_size = 8, .steps = 1};
  run.check_every = 1;
  run.checkpoint.best_metric = "square_error";
  run.early_stopping.patience = 100;
  run.checkpoint.max_to_keep = 20;
  run.checkpoint.keep_period = 2;
  run.checkpoint.save_interval_minutes = 1e-9;
  std::map<std::int64_t, double> values;
  run.checked = [&](const train::TrainCheck& check) {
    if (check.step == 6 && values.contains(8)) {
      for (const char* place : {"model/best", "model/save"})
        EXPECT_THAT(checkpoint::checkpoint_steps(dir_.file(place)), testing::Each(testing::Le(5)))
            << place;
      values.erase(values.upper_bound(5), values.end());
    }
    values[check.step] = check.validation->measure("square_error").value;
  };
  train::train(run);
  ASSERT_EQ(values.size(), 12u);
  EXPECT_THAT(log_.text(), HasSubstr("checkpoint-5, skipping 4 batches"));
  const auto best = std::ranges::min_element(values, {}, [](const auto& v) { return v.second; });
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("model/best")), best->first);
  // the extra one may be needed for a rollback
  EXPECT_LE(checkpoint::checkpoint_steps(dir_.file("model/best")).size(), 2u);
  EXPECT_EQ(settings("model", 12)["score"]["step"], best->first);
  EXPECT_EQ(settings("model", 12)["checks_since_best"], 12 - best->first);
}

TEST_F(StepGuardTest, ResumedRunKeepsItsFirstStateForRollbacks) {
  train::train(line_job("first", 3));
  train::TrainJob run = line_job("second", 4);
  run.config.spikes = {.action = SpikeAction::rewind, .window = 4, .sigmas = 20};
  run.init = dir_.file("first");
  run.take_step = true;
  run.checkpoint.max_to_keep = 1;
  run.checkpoint.save_interval_steps = 5;
  run.checkpoint.save_interval_minutes = 1e-9;
  train::train(run);
  EXPECT_THAT(checkpoint::checkpoint_steps(dir_.file("second")), testing::ElementsAre(3, 4));
}

TEST_F(StepGuardTest, RollbackUsesAvailableStatesAndSpikeSettingsMayChange) {
  train::train(line_job("model", 7));
  checkpoint::remove_checkpoint(dir_.file("model/checkpoint-5"));
  train::TrainJob run = line_job("model", 12, at_step(10), a_hundredfold);
  run.config.spikes = {.action = SpikeAction::rewind, .window = 3, .sigmas = 20, .skip_batches = 9};
  run.checkpoint.save_interval_steps = 100;
  EXPECT_THAT(error_of([&] { train::train(run); }),
              HasSubstr("has rolled back to step 7 10 times already"));
  run.config.spikes = {.action = SpikeAction::skip, .window = 2, .sigmas = 30};
  train::train(run);
  EXPECT_THAT(log_.text(), HasSubstr("train.loss_spike.action was \"none\", is \"rewind\""));
  EXPECT_EQ(settings("model", 12)["skipped_steps"], Json({11}));
}

TEST(RewindTarget, IsTheLastRegularCheckpointOrTheLast) {
  EXPECT_EQ(train::rewind_target({5, 7, 10}, 9, 5, 0), 5);
  EXPECT_EQ(train::rewind_target({5, 7, 10}, 11, 5, 0), 10);
  EXPECT_EQ(train::rewind_target({3, 7}, 9, 5, 3), 3);
  EXPECT_EQ(train::rewind_target({6, 7, 10}, 9, 5, 0), 7);
  EXPECT_EQ(train::rewind_target({9}, 9, 5, 0), std::nullopt);
}

TEST_F(StepGuardTest, PersistentSpikeEndsTheRunAfterTenRollbacks) {
  train::TrainJob run = line_job("model", 12, at_step(6), a_hundredfold);
  run.config.spikes = {.action = SpikeAction::rewind, .window = 4, .sigmas = 20, .skip_batches = 3};
  EXPECT_THAT(
      error_of([&] { train::train(run); }),
      HasSubstr("train: the loss of step 7 is a spike, and the run has rolled back to step 5 10 "
                "times already\n  hint: raise train.loss_spike.skip_batches or lower "
                "train.optimizer.learning_rate; if this is not a spike, raise "
                "train.loss_spike.sigmas or"));
}

TEST_F(StepGuardTest, RollbackIsNotANewStartAndCountsNoTimeTwice) {
  train::TrainJob run = line_job("model", 12, at_step(6), a_hundredfold);
  run.config.spikes = {.action = SpikeAction::rewind, .window = 4, .sigmas = 20, .skip_batches = 3};
  run.track.log_every = 1;
  const double start = evaluation::wall_seconds();
  EXPECT_NE(error_of([&] { train::train(run); }), "no error");  // after ten rollbacks
  const evaluation::RunRecord record = evaluation::read_run(run.model_dir);
  EXPECT_EQ(record.starts, 1);
  EXPECT_EQ(record.of, 12);
  EXPECT_EQ(record.spent[evaluation::GoodputBucket::down], 0);
  EXPECT_GT(record.spent[evaluation::GoodputBucket::lost], 0);
  EXPECT_LE(record.spent.total(), evaluation::wall_seconds() - start);
}

}  // namespace
}  // namespace smelt::model
