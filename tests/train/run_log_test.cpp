// What a run tells of itself: metrics.jsonl over starts, figures, operations.
#include "train/run_log.h"

#include <gmock/gmock.h>

#include <chrono>

#include "store/folder.h"
#include "support/error_of.h"
#include "tasks/jestimator_bert_task.h"
#include "track/run_record.h"
#include "train/model_flops.h"
#include "train/small_run.h"

namespace smelt {
namespace {

using testing::HasSubstr;

class RunLogTest : public SmallRun {
 protected:
  TrainJob told_job(const std::string& model, std::int64_t steps) const {
    TrainJob out = job(model, steps);
    out.track.log_every = 2;
    out.save_every = 3;
    return out;
  }
};

TEST_F(RunLogTest, EveryLineHasItsFiguresAndNoTimeIsCountedTwice) {
  const double start = wall_seconds();
  train(told_job("m", 6));
  const double seconds = wall_seconds() - start;
  const RunRecord run = read_run(dir_.file("m"));
  EXPECT_EQ(run.end->at("why"), "done");
  EXPECT_EQ(run.start["batch_size"], 8);
  EXPECT_EQ(run.start["settings"]["batch_size"], 8);
  EXPECT_FALSE(run.start.contains("peak_flops"));  // of a CPU
  EXPECT_EQ(*run.saved, 6);
  for (const char* name : {"loss", "masked_lm_loss", "learning_rate", "gradient_norm",
                           "sequences_per_second", "tokens_per_second", "input_share"}) {
    const Curve& curve = run.lines.at(name);
    ASSERT_EQ(curve.size(), 3u) << name;
    EXPECT_EQ(curve[2].step, 6);
    EXPECT_GE(curve[1].value, 0) << name;
  }
  const double tokens = run.lines.at("tokens_per_second")[1].value,
               rows = run.lines.at("sequences_per_second")[1].value;
  EXPECT_LE(tokens, 32.001 * rows);  // all tokens of a row, or fewer; both are rounded
  EXPECT_GT(tokens, 5 * rows);       // [CLS] a [SEP] b [SEP] at least
  EXPECT_GT(run.spent.total(), 0.5 * seconds);
  EXPECT_LE(run.spent.total(), seconds);
  EXPECT_GT(run.spent[Spent::compile], 0);
  EXPECT_GT(run.spent[Spent::save], 0);
}

TEST_F(RunLogTest, AKilledRunThatGoesOnTellsTheSameOnceAndKnowsWhatWasLost) {
  train(told_job("whole", 6));
  train(told_job("killed", 6));
  remove_tree(dir_.file("killed/checkpoint-6"));  // as if it had been killed behind step 3
  train(told_job("killed", 6));
  const RunRecord whole = read_run(dir_.file("whole")), killed = read_run(dir_.file("killed"));
  EXPECT_EQ(killed.starts, 2);
  EXPECT_EQ(whole.spent[Spent::lost], 0);
  EXPECT_GT(killed.spent[Spent::lost], 0);
  EXPECT_GT(killed.spent[Spent::restore], whole.spent[Spent::restore]);
  const Curve &loss = killed.lines.at("loss"), &want = whole.lines.at("loss");
  ASSERT_EQ(loss.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(loss[i].step, want[i].step);
  EXPECT_EQ(loss[0].value, want[0].value);
  EXPECT_EQ(loss[2].value, want[2].value);
}

TEST_F(RunLogTest, ARunThatFailsSaysHow) {
  TrainJob job = told_job("m", 6);
  job.config.schedule.learning_rate = 1e30;
  EXPECT_NE(error_of([&] { train(job); }), "no error");
  const RunRecord run = read_run(dir_.file("m"));
  EXPECT_EQ(run.end->at("why"), "failed");
  EXPECT_THAT(run.end->at("message").get<std::string>(), HasSubstr("train: "));
}

TEST_F(RunLogTest, ADryRunTellsNothing) {
  TrainJob job = told_job("m", 6);
  job.dry_run = true;
  train(job);
  EXPECT_FALSE(exists(dir_.file("m/metrics.jsonl")));
}

// The products of a BERT as its paper's authors would count them.
TEST_F(RunLogTest, OperationsAreThoseOfTheModelsProducts) {
  BertTask task = bert();
  const double T = 32, P = 5, H = 16, I = 32, V = task.model.vocab_size;
  const double layer = 4 * 2 * T * H * H + 2 * 2 * T * H * I + 2 * 2 * T * T * H;
  const double heads = 2 * H * H + 2 * H * 2 + 2 * P * H * H + 2 * P * H * V;
  const double lookups = 2 * P * T * H + 2 * T * 2 * H;  // of masked positions, of segments
  const double flops = training_flops(bert_task(task));
  EXPECT_GE(flops, 3 * (layer + heads));
  EXPECT_LE(flops, 3 * (layer + heads + lookups));
  task.model.num_hidden_layers = 3;
  EXPECT_EQ(training_flops(bert_task(task)) - flops, 3 * 2 * layer);
}

}  // namespace
}  // namespace smelt
