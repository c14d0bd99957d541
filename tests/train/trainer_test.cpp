// The training loop on a tiny model: resumed runs, rejected jobs, and states that are never saved.
#include "train/trainer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "evaluation/tracking/run_record.h"
#include "io/filesystem/file.h"
#include "io/formats/tfrecord.h"
#include "runs/small_run.h"
#include "support/error_of.h"
#include "train/job_checks.h"
#include "train/training_clock.h"

namespace smelt::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using TrainerTest = SmallRun;

TEST_F(TrainerTest, AResumedRunGivesTheBitsOfAnUninterruptedOne) {
  const TrainSummary whole = train(job("whole", 12));
  EXPECT_EQ(whole.last_step, 12);
  cut_back(dir_.file("whole"), dir_.file("resumed"), 5);
  const TrainSummary resumed = train(job("resumed", 12));
  EXPECT_EQ(resumed.first_step, 5);
  EXPECT_EQ(resumed.last, whole.last);
  EXPECT_TRUE(whole.last.contains("masked_lm_accuracy"));
  const auto want = state("whole", 12);
  EXPECT_EQ(state("resumed", 12), want);
  EXPECT_EQ(want.size() % 3, 0u);
  EXPECT_NE(state("whole", 5), want);
}

// The weights do not change and there is no dropout, so that a loss identifies the batch.
TEST_F(TrainerTest, AResumedRunWithReplayDataStartsAtTheFirstBatch) {
  model::BertTask still = bert();
  still.model.hidden_dropout_prob = still.model.attention_probs_dropout_prob = 0;
  const auto losses_of = [&](const std::string& model, bool replay) {
    TrainJob run = job(model, 10);
    run.task = model::bert_task(still);
    run.config.schedule.learning_rate = 1e-30;
    run.track.log_every = 1;
    run.replay_data = replay;
    std::vector<double> losses;
    run.track.log_line = [&](const LogPoint& point) {
      losses.push_back(point.loss);
      return std::string();
    };
    train(run);
    return losses;
  };
  const auto whole = losses_of("whole", true);
  ASSERT_EQ(whole.size(), 10u);
  const std::vector first(whole.begin(), whole.begin() + 5), second(whole.begin() + 5, whole.end());
  EXPECT_NE(first, second);
  cut_back(dir_.file("whole"), dir_.file("replayed"), 5);
  cut_back(dir_.file("whole"), dir_.file("resumed"), 5);
  EXPECT_EQ(losses_of("replayed", true), first);
  EXPECT_EQ(losses_of("resumed", false), second);
}

TEST_F(TrainerTest, FinishedRunNeitherTrainsNorCompiles) {
  train(job("model", 3));
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("examples, a model (bert) of 9275 parameters; compil"),
                                 HasSubstr("the model is in " + dir_.file("model") + "\n")));
  TrainJob finished = job("model", 3);
  finished.accepted = [] { FAIL() << "it writes nothing"; };
  const TrainSummary again = train(finished);
  EXPECT_EQ(again.first_step, 3);
  EXPECT_EQ(again.last_step, 3);
  EXPECT_EQ(again.compile_seconds, 0);
  EXPECT_THAT(
      log_.text(),
      AllOf(
          HasSubstr("checkpoint-3 is the last checkpoint of this run, train.steps 3: no steps are "
                    "left\n  hint: raise train.steps to train on\n"),
          Not(HasSubstr("resuming"))));
  finished.config.schedule.total_steps = 1;
  train(finished);
  EXPECT_THAT(log_.text(),
              HasSubstr("checkpoint-3 is at step 3, beyond train.steps 1: no steps are left, "
                        "and the model remains at step 3\n  hint: raise train.steps, "
                        "or choose another output folder"));
}

// The run was killed between the last checkpoint and the last record.
TEST_F(TrainerTest, AFinishedRunRecordsAMissingEnd) {
  const TrainJob run = job("model", 3);
  train(run);
  const std::string path = dir_.file("model/metrics.jsonl"), whole = io::read_file(path);
  const std::string cut = whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1);
  io::write_file(path, cut);
  ASSERT_FALSE(evaluation::read_run(run.model_dir).end);
  TrainJob shorter = run;
  shorter.config.schedule.total_steps = 2;
  train(shorter);  // fewer steps than those of the run
  EXPECT_EQ(io::read_file(path), cut);
  for (int i = 0; i < 2; ++i) {
    train(run);
    const evaluation::RunRecord told = evaluation::read_run(run.model_dir);
    EXPECT_EQ(told.end.value()["why"], "done");
    EXPECT_EQ(told.step, 3);
    EXPECT_EQ(told.starts, 1);
    EXPECT_EQ(std::ranges::count(io::read_file(path), '\n'), std::ranges::count(whole, '\n'));
  }
}

TEST_F(TrainerTest, RejectsOtherSettingsForAFinishedRun) {
  TrainJob run = job("model", 3);
  train(run);
  run.config.schedule.learning_rate = 0.5;
  run.config.schedule.warmup_steps = 1;
  EXPECT_THAT(error_of<UsageError>([&] { train(run); }),
              AllOf(HasSubstr(
                  "checkpoint-3 is the last checkpoint of this run, train.steps 3, and was trained "
                  "with other settings: train.optimizer.learning_rate was 0.001, is 0.5; "
                  "train.schedule.warmup_steps was 2, is 1\n  hint: use the settings that it "
                  "was trained with, raise train.steps to train on with these, or")));
  EXPECT_NE(error_of<UsageError>([&] { check_resume(run); }), "no error");
  run.config.schedule.total_steps = 4;
  EXPECT_EQ(train(run).last_step, 4);
}

// Returns a job that gets SIGTERM during a step.
TrainJob stopped_at(TrainJob job, std::int64_t step) {
  job.track.log_every = 1;
  job.track.log_line = [step](const LogPoint& point) {
    if (point.step == step) std::raise(SIGTERM);
    return std::string();
  };
  return job;
}

using TrainerDeathTest = TrainerTest;

TEST_F(TrainerDeathTest, ASignalBeforeTheFirstStepEndsTheCommandAtOnce) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  TrainJob run = job("model", 3);
  run.accepted = [] { std::raise(SIGTERM); };  // after compilation
  EXPECT_EXIT(train(run), testing::ExitedWithCode(75),
              "stopped: run the same command again to resume");
}

TEST_F(TrainerTest, ASignalSavesWhereTheRunStops) {
  const TrainJob endless = stopped_at(job("stopped", 1'000'000'000), 7);
  std::string message;
  try {
    train(endless);
  } catch (const Stopped& stopped) {
    message = stopped.what();
  }
  const auto saved = checkpoint::latest_checkpoint(dir_.file("stopped"));
  ASSERT_TRUE(saved);
  EXPECT_GE(*saved, 7);
  EXPECT_LT(*saved, 10);
  EXPECT_THAT(message, HasSubstr(str("train: stopped by a signal at step ", *saved,
                                     " of 1000000000; saved")));
  EXPECT_THAT(message, HasSubstr("hint: run the same command again"));
}

TEST_F(TrainerTest, ASignalsCheckpointResumesToTheBitsOfAnUninterruptedRun) {
  EXPECT_THAT(error_of([&] { train(stopped_at(job("stopped", 12), 7)); }), HasSubstr("; saved"));
  const TrainSummary resumed = train(job("stopped", 12));
  EXPECT_EQ(resumed.first_step % 5, 3);  // not at a regular save, every 5 steps
  const TrainSummary whole = train(job("whole", 12));
  EXPECT_EQ(resumed.last, whole.last);
  EXPECT_EQ(state("stopped", 12), state("whole", 12));
}

// The rate falls from 1e-3 to 0 during the time, and a resumed run continues with the rate of the
// checkpoint's time.
TEST_F(TrainerTest, ARunOfAGivenTimeDecaysToItsEndAndResumesAtItsTime) {
  const auto timed = [&](const std::string& model) {
    TrainJob run = job(model, 0);
    run.seconds = 0.5;
    run.config.schedule.warmup_steps = 0;
    run.config.schedule.total_steps = 500;  // milliseconds
    run.checkpoint.save_interval_steps = 1;
    run.checkpoint.max_to_keep = 1'000'000;
    return run;
  };
  const auto trained = [&](const std::string& model, std::int64_t step) {
    return checkpoint::load_checkpoint(dir_.file(model), step).state.value(kTrainedSeconds, -1.0);
  };
  const TrainSummary whole = train(timed("whole"));
  ASSERT_GE(whole.last_step, 2);
  EXPECT_EQ(trained("whole", whole.last_step), 0.5);
  EXPECT_LT(trained("whole", 1), 0.5);
  const auto rate_of = [](const TrainSummary& run) { return run.last.at("learning_rate"); };
  // By steps, the rate would still be near 1e-3. A checkpoint's time is predicted from the steps
  // before it, here to within 50 ms.
  EXPECT_LE(rate_of(whole), 1e-3 * (1 - trained("whole", whole.last_step - 1) / 0.5) + 1e-4);
  EXPECT_THAT(error_of([&] { train(stopped_at(timed("stopped"), 1)); }),
              HasSubstr(" % of 0.5 seconds; saved"));

  cut_back(dir_.file("whole"), dir_.file("resumed"), whole.last_step - 1);
  const TrainSummary resumed = train(timed("resumed"));
  EXPECT_EQ(resumed.first_step, whole.last_step - 1);
  EXPECT_LE(rate_of(resumed), 1e-3 * (1 - trained("whole", whole.last_step - 1) / 0.5) + 1e-4);
  EXPECT_EQ(trained("resumed", resumed.last_step), 0.5);
  const TrainSummary again = train(timed("resumed"));
  EXPECT_EQ(again.last_step, resumed.last_step);
  EXPECT_THAT(log_.text(), HasSubstr("has trained for 0.5 seconds, train.length 0.5 seconds: no "
                                     "time is left\n  hint: raise train.length to train on"));
  TrainJob other = timed("resumed");
  other.config.schedule.learning_rate = 0.5;
  EXPECT_THAT(
      error_of<UsageError>([&] { train(other); }),
      AllOf(HasSubstr("is the last checkpoint of this run, train.length 0.5 seconds, and was "
                      "trained with other settings: train.optimizer.learning_rate was"),
            HasSubstr("raise train.length to train on")));

  TrainJob longer = timed("resumed");  // the same share of warm-up
  longer.seconds = 0.6;
  longer.config.schedule.total_steps = 600;
  longer.config.schedule.warmup_steps = 6;
  train(longer);
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("train.length was 0.5 seconds, is 0.6 seconds: the "
                                           "learning rate continues at "),
                                 HasSubstr("a rate that rises again can undo what was learned"),
                                 Not(HasSubstr("warmup_steps was"))));
  train(job("steps", 1));
  train(timed("steps"));
  EXPECT_THAT(log_.text(),
              AllOf(HasSubstr("checkpoint-1: was trained by steps, so its time is not known: the "
                              "0.5 seconds begin now, with a new warm-up"),
                    HasSubstr("train.length was 1 steps, is 0.5 seconds: the learning rate")));
}

TEST_F(TrainerTest, RejectsAndNamesEachChangedSetting) {
  save_first_weights("model");
  const auto refusal = [&](const std::function<void(TrainJob&)>& change) {
    TrainJob other = job("model", 0);
    change(other);
    return error_of([&] { train(other); });
  };
  EXPECT_THAT(refusal([](auto& j) { j.config.batch_size = 4; }),
              HasSubstr("checkpoint-0: was made with train.batch_size 8, this run has 4"));
  EXPECT_THAT(refusal([](auto& j) {
                model::BertTask deeper = bert();
                deeper.model.num_hidden_layers = 2;
                j.task = model::bert_task(deeper);
              }),
              HasSubstr("was made with model.num_hidden_layers 1, this run has 2"));
  EXPECT_THAT(refusal([](auto& j) { j.config.seed = 9; }),
              HasSubstr("was made with train.seed 12345, this run has 9"));
  EXPECT_THAT(refusal([](auto& j) { j.config.optimizer = model::adamw({.weight_decay = 0.5}); }),
              HasSubstr("was made with train.optimizer.weight_decay 0.01, this run has 0.5"));
  EXPECT_THAT(refusal([](auto& j) { j.config.clip_norm = 2; }),
              HasSubstr("was made with train.optimizer.clip_norm 1.0, this run has 2.0"));
  EXPECT_THAT(
      refusal([](auto& j) { j.config.reduction = model::Reduction::per_replica; }),
      HasSubstr(
          "was made with train.parallelism.reduction \"global\", this run has \"per_replica\""));
  EXPECT_THAT(refusal([](auto& j) {
                model::BertTask alone = bert();
                alone.next_sentence = false;
                j.task = model::bert_task(alone);
              }),
              HasSubstr("was made with data.next_sentence true, this run has false"));
  EXPECT_THAT(
      refusal([](auto& j) {
        j.config.seed = 9;
        j.config.batch_size = 4;
      }),
      HasSubstr(
          "with train.batch_size 8, this run has 4; with train.seed 12345, this run has 9\n"));
  EXPECT_THAT(refusal([](auto& j) {
                model::BertTask other = bert();
                other.model.hidden_size = 32;
                other.model.intermediate_size = 16;
                other.model.num_attention_heads = 4;
                other.model.num_hidden_layers = 3;
                other.model.initializer_range = 0.1;
                j.task = model::bert_task(other);
                j.config.seed = 9;
              }),
              HasSubstr("; 1 more differ\n"));
  EXPECT_THAT(refusal([](auto& j) { j.config.schedule.learning_rate = 1e-4; }), "no error");
}

TEST_F(TrainerTest, IgnoresSettingsThatTheCheckpointDoesNotHave) {
  save_first_weights("model");
  TrainJob newer = job("model", 0);
  newer.task.settings["model"]["a_later_field"] = 7;
  EXPECT_EQ(error_of([&] { train(newer); }), "no error");
}

TEST_F(TrainerTest, PerReplicaRunsKeepTheirNumberOfDevices) {
  TrainJob one = job("model", 0);
  one.config.reduction = model::Reduction::per_replica;
  train(one);
  one.on.devices = 2;
  EXPECT_THAT(error_of([&] { train(one); }),
              HasSubstr("was made with train.devices 1, this run has 2"));
}

TEST_F(TrainerTest, DetectsAChangeInTheLastRecord) {
  save_first_weights("model");
  std::string bytes = io::read_file(dir_.file("train.tfrecord")), changed, last;
  io::RecordReader records(bytes);
  while (const auto record = records.next()) {
    if (!last.empty()) io::append_record(changed, last);
    last = *record;
  }
  last.back() ^= 1;  // the label of next sentence prediction
  io::append_record(changed, last);
  io::write_file(dir_.file("train.tfrecord"), changed);
  EXPECT_THAT(error_of([&] { train(job("model", 0)); }), HasSubstr("was made with data.crc32c "));
}

TEST_F(TrainerTest, RejectsACheckpointOfOtherData) {
  save_first_weights("model");
  TrainJob changed = job("model", 0);
  changed.data = other_records();
  EXPECT_THAT(error_of([&] { train(changed); }), HasSubstr("checkpoint-0: was made with data."));
}

// Each case changes the description next to the data.
TEST_F(TrainerTest, RejectsDataThatDoesNotMatchItsDescription) {
  const std::string path = dir_.file("train.tfrecord.json"), before = io::read_file(path);
  const auto refusal = [&](const std::function<void(Json&)>& change) {
    Json description = Json::parse(before);
    change(description);
    io::write_file(path, description.dump());
    TrainJob one = job("model", 0);
    one.vocab = vocab();
    return error_of([&] { train(one); });
  };
  EXPECT_THAT(refusal([](auto& d) { d["examples"] = 3; }),
              HasSubstr("train.tfrecord.json: examples is 3, expected "));
  EXPECT_THAT(refusal([](auto& d) { d["seq_length"] = 64; }),
              HasSubstr("seq_length is 64, expected 32"));
  EXPECT_THAT(refusal([](auto& d) { d["max_predictions"] = 9; }),
              HasSubstr("max_predictions is 9, expected 5"));
  EXPECT_THAT(refusal([](auto& d) { d["vocabulary"]["crc32c"] = 7; }),
              HasSubstr("is 7, expected "));
  EXPECT_THAT(refusal([](auto& d) { d["next_sentence"] = false; }),
              HasSubstr("next_sentence is false, expected true"));
  EXPECT_FALSE(std::filesystem::exists(dir_.file("model")));
  EXPECT_THAT(refusal([](auto&) {}), "no error");
}

TEST_F(TrainerTest, ARejectedRunChangesNothingInItsFolder) {
  save_first_weights("model");
  TrainJob other = job("model", 0);
  other.config.seed = 9;
  bool accepted = false;
  other.accepted = [&] { accepted = true; };
  EXPECT_THAT(error_of([&] { train(other); }), HasSubstr("seed"));
  EXPECT_FALSE(accepted);
  other.model_dir = dir_.file("new");
  train(other);
  EXPECT_TRUE(accepted);
}

TEST_F(TrainerTest, WithoutNextSentencePredictionPoolerAndHeadAreUnchanged) {
  model::BertTask alone = bert();
  alone.next_sentence = false;
  TrainJob off = job("off", 10);
  off.task = model::bert_task(alone);
  const TrainSummary s = train(off);
  EXPECT_NEAR(s.last.at("loss"), s.last.at("masked_lm_loss"), 1e-5);
  EXPECT_FALSE(s.last.contains("next_sentence_loss"));
  const auto early = state("off", 5), late = state("off", 10);
  for (const char* name : {"cls/seq_relationship/output_weights", "bert/pooler/dense/kernel"}) {
    EXPECT_EQ(early.at(name), late.at(name)) << name;
    const auto& m = late.at(str(name, "/adam_m"));
    EXPECT_TRUE(std::ranges::all_of(m, [](float v) { return v == 0; })) << name;
  }
  EXPECT_NE(early.at("cls/predictions/output_bias"), late.at("cls/predictions/output_bias"));
}

TEST_F(TrainerTest, ANonFiniteLossEndsTheRun) {
  TrainJob wild = job("model", 50);
  wild.config.schedule.learning_rate = 1e30;
  const std::string message = error_of([&] { train(wild); });
  EXPECT_THAT(message, AllOf(HasSubstr("train: at step "), HasSubstr(" the loss is ")));
  EXPECT_THAT(message, HasSubstr("no checkpoint was saved yet"));
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("model")), std::nullopt);
}

// A task with a finite loss and a non-finite gradient (d sqrt(x) at 0) from the step `from` on.
model::Task broken_task(const model::Task& fine, double from) {
  model::Task out = fine;
  out.objective = [fine, from](const model::Scope& root, const model::Inputs& in) {
    model::Objective objective = fine.objective(root, in);
    const compiler::Tensor step =
        compiler::convert(root.random_source()->step, compiler::DType::f32);
    const compiler::Tensor sum = objective.losses[0].sum;
    const compiler::Tensor zero = compiler::select(
        compiler::compare(step, compiler::full_like(step, from), compiler::Compare::ge),
        compiler::zeros_like(sum), compiler::ones_like(sum));
    objective.losses[0].sum = sum + 0.0 * compiler::sqrt(sum * zero);
    return objective;
  };
  return out;
}

TEST_F(TrainerTest, ANonFiniteGradientIsNeverSaved) {
  TrainJob broken = job("model", 20);
  broken.task = broken_task(broken.task, 6);
  broken.checkpoint.save_interval_steps = 7;  // right after the first bad step
  const std::string message = error_of([&] { train(broken); });
  EXPECT_THAT(message, HasSubstr("train: at step 7 the loss is "));
  EXPECT_THAT(message, HasSubstr("the gradient's norm "));
  EXPECT_THAT(message, HasSubstr("no checkpoint was saved yet"));
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("model")), std::nullopt);
}

TEST_F(TrainerTest, ANonFiniteStateIsNeverSaved) {
  TrainJob broken = job("model", 20);
  const model::Optimizer fine = broken.config.optimizer;
  broken.config.optimizer.update =
      [fine](const model::OptimizerStep& step, const model::Parameter& p,
             std::span<const compiler::Tensor> slots, compiler::Tensor gradient) {
        model::UpdatedParameter out = fine.update(step, p, slots, gradient);
        if (p.name != "cls/seq_relationship/output_bias") return out;
        const compiler::Tensor t =
            compiler::convert(step.step, compiler::DType::f32);  // infinite at step 9
        out.value = out.value + compiler::broadcast_to(1.0 / (9.0 - t), out.value.dims()) * 0.0;
        return out;
      };
  const std::string message = error_of([&] { train(broken); });
  EXPECT_THAT(message,
              HasSubstr("train: after step 10 cls/seq_relationship/output_bias is not finite"));
  EXPECT_THAT(message, HasSubstr("the checkpoint of step 5 is intact"));
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("model")), 5);
}

TEST_F(TrainerTest, LogLinesHaveTheMeansSinceTheLastLine) {
  TrainJob each = job("each", 6), both = job("both", 6);
  each.track.log_every = 1, both.track.log_every = 2;
  const auto losses = [&](const TrainJob& j) {
    testing::internal::CaptureStderr();
    train(j);
    const std::string lines = testing::internal::GetCapturedStderr();
    std::vector<std::pair<int, double>> out;
    for (std::size_t at = 0; (at = lines.find("step ", at)) != std::string::npos; ++at) {
      int step = 0;
      double loss = 0;
      if (std::sscanf(lines.c_str() + at, "step %d/6: loss %lf,", &step, &loss) == 2)
        out.emplace_back(step, loss);
    }
    return out;
  };
  const auto single = losses(each), paired = losses(both);
  ASSERT_EQ(single.size(), 6u);
  ASSERT_EQ(paired.size(), 3u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(single[static_cast<std::size_t>(i)].first, i + 1);
  EXPECT_NEAR(single[0].second, std::log(bert().model.vocab_size) + std::log(2), 0.5);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(paired[i].first, 2 * (static_cast<int>(i) + 1));
    EXPECT_NEAR(paired[i].second, (single[2 * i].second + single[2 * i + 1].second) / 2, 2e-3);
  }
}

TEST_F(TrainerTest, WarnsAboutATooLongWarmupAndMoreMasksThanTokens) {
  TrainJob run = job("model", 10);
  run.config.schedule.warmup_steps = 9;
  warn_of_settings(run);
  EXPECT_THAT(log_.text(), Not(HasSubstr("never reached")));
  run.config.schedule.warmup_steps = 10;
  model::BertTask many = bert();
  many.max_predictions = many.seq_length + 1;
  run.task = model::bert_task(many);
  warn_of_settings(run);
  EXPECT_THAT(
      log_.text(),
      AllOf(HasSubstr("train: train.schedule.warmup_steps 10 is too long for train.steps 10: "
                      "train.optimizer.learning_rate "),
            HasSubstr(" is never reached\n"),
            HasSubstr("train: data.max_predictions 33 is more than data.seq_length 32: the "
                      "rest is always padding\n")));
}

TEST_F(TrainerTest, RejectsWrongSizesWithBothValues) {
  TrainJob wrong = job("model", 2);
  wrong.on.devices = 3;
  EXPECT_THAT(error_of([&] { train(wrong); }),
              HasSubstr("a batch of 8 examples does not divide over 3 devices"));
  const auto refusal = [&](const std::function<void(model::BertTask&)>& change) {
    return error_of([&] {
      model::BertTask changed = bert();
      change(changed);
      TrainJob other = job("model", 2);
      other.task = model::bert_task(changed);
      train(other);
    });
  };
  EXPECT_THAT(refusal([](auto& b) { b.model.max_position_embeddings = 16; }),
              HasSubstr("sequence length 32 is longer than max_position_embeddings 16"));
  EXPECT_THAT(refusal([](auto& b) { b.model.vocab_size = 60; }),
              HasSubstr("is out of range for vocab_size 60"));
  EXPECT_THAT(refusal([](auto& b) { b.seq_length = 16; }), AllOf(HasSubstr("16"), HasSubstr("32")));
}

}  // namespace
}  // namespace smelt::train
