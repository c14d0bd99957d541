// Training runs that pack short sequences.
#include <gmock/gmock.h>

#include "base/error.h"
#include "data/preprocess/bert_examples.h"
#include "runs/small_run.h"
#include "support/error_of.h"
#include "train/packing_plan.h"
#include "train/training_clock.h"

namespace smelt::train {
namespace {

using testing::HasSubstr;
using testing::Not;

class PackedRun : public SmallRun {
 protected:
  TrainJob packed(const std::string& model,
                  model::PackingMode mode = model::PackingMode::on) const {
    data::BertExamplesJob records;
    records.text.input = source_path("tests/golden/pretraining/english.txt");
    records.vocab = vocab();
    records.output = dir_.file("short.tfrecord");
    records.overwrite = true;
    records.pairs.seq_length = 128;
    records.pairs.max_predictions = 5;
    records.pairs.short_seq_prob = 0.9;
    data::build_bert_examples(records);
    model::BertTask bert = small_bert();
    bert.seq_length = bert.model.max_position_embeddings = 128;
    TrainJob out = job(model, 12);
    out.task = model::bert_task(bert);
    out.config.batch_size = 32;
    out.data = records.output;
    out.config.packing = mode;
    return out;
  }
};

// Some of the batches do not fit into the packed rows.
TEST_F(PackedRun, LearnsTheSameAndResumesBitForBit) {
  const TrainSummary padded = train(packed("padded", model::PackingMode::off));
  EXPECT_THAT(log_.text(), Not(HasSubstr("packing")));
  const TrainSummary whole = train(packed("whole"));
  EXPECT_THAT(log_.text(), HasSubstr("train: packing on: 32 examples of a step fit into "));
  for (const auto& [name, value] : padded.last)
    EXPECT_NEAR(whole.last.at(name), value, 1e-4 * std::max(1.0, std::abs(value))) << name;
  cut_back(dir_.file("whole"), dir_.file("resumed"), 5);
  const TrainSummary resumed = train(packed("resumed"));
  EXPECT_EQ(resumed.first_step, 5);
  EXPECT_TRUE(state("resumed", 12) == state("whole", 12));
  EXPECT_FALSE(state("padded", 12) == state("whole", 12)) << "sums are in another order";
}

// All programs of a run (packed, padded) take the learning rate of the time.
TEST_F(PackedRun, DecaysWithTheTimeOnTwoDevicesInALoop) {
  TrainJob run = packed("timed");
  run.seconds = 0.5;
  run.config.schedule.warmup_steps = 0;
  run.config.schedule.total_steps = 500;  // milliseconds
  run.on.devices = 2;
  run.on.compute.emplace().layers = model::Layers::scan;
  run.checkpoint.save_interval_steps = 1;
  const TrainSummary timed = train(run);
  EXPECT_THAT(log_.text(), HasSubstr("train: packing on"));
  const auto trained = [&](std::int64_t step) {
    return checkpoint::load_checkpoint(run.model_dir, step).state.value(kTrainedSeconds, -1.0);
  };
  EXPECT_EQ(trained(timed.last_step), 0.5);
  EXPECT_LE(timed.last.at("learning_rate"), 1e-3 * (1 - trained(timed.last_step - 1) / 0.5) + 1e-4);
}

TEST_F(PackedRun, AutoPacksOnlyIfAStepTakesATenthLessTime) {
  const auto choice_of = [](TrainJob job) {
    job.config.packing = model::PackingMode::automatic;
    return choose_packing(job, *open_training_data(job), 1);
  };
  const auto [plan, reason] = choice_of(packed("short"));
  ASSERT_TRUE(plan) << reason;
  EXPECT_LE(plan->time, 0.9);
  EXPECT_LT(plan->fitting, 1) << "the tests above also run steps without packing";
  const PackingChoice full = choice_of(job("long", 12));
  EXPECT_FALSE(full.plan);
  EXPECT_EQ(full.reason, "off: packing would not save time");
  TrainJob other = packed("other");
  other.task.can_be_packed = false;
  const PackingChoice refused = choice_of(other);
  EXPECT_FALSE(refused.plan);
  EXPECT_EQ(refused.reason,
            "off, because the training examples of this model (bert) cannot be packed");
}

TEST_F(PackedRun, RejectsWhatCannotBePacked) {
  const auto refusal = [&](auto&& change) {
    TrainJob job = packed("model");
    change(job);
    return error_of<UsageError>([&] { train(job); });
  };
  EXPECT_THAT(refusal([](TrainJob& j) { j.config.reduction = model::Reduction::per_replica; }),
              HasSubstr("train.packing is on, but train.parallelism.reduction is per_replica, for "
                        "which the loss of each device depends on which examples it has\n  hint: "
                        "set train.packing to off"));
  EXPECT_THAT(
      refusal([](TrainJob& j) { j.task.can_be_packed = false; }),
      HasSubstr("train.packing is on, but the training examples of this model (bert) cannot "
                "be packed\n  hint: set train.packing to off"));
}

}  // namespace
}  // namespace smelt::train
