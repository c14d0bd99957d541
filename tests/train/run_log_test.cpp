// The log of a run: metrics.jsonl over several starts, metrics, FLOPs.
#include "train/run_log.h"

#include <gmock/gmock.h>

#include <chrono>

#include "evaluation/tracking/run_record.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "model/tasks/jestimator_bert_task.h"
#include "model/train_step/model_flops.h"
#include "runs/small_run.h"
#include "support/error_of.h"
#include "train/gradient_values.h"
#include "train/job_program.h"
#include "train/program_cost.h"

namespace smelt::train {
namespace {

using testing::HasSubstr;

class RunLogTest : public SmallRun {
 protected:
  TrainJob told_job(const std::string& model, std::int64_t steps) const {
    TrainJob out = job(model, steps);
    out.track.log_every = 2;
    out.checkpoint.save_interval_steps = 3;
    return out;
  }
  // Returns the contents of all event files of a run.
  std::string events_of(const std::string& model) const {
    std::string out;
    const std::string folder = dir_.file(model + "/train");
    for (const std::string& name : io::list_folder(folder))
      out += io::read_file(io::join_path(folder, name));
    return out;
  }
};

TEST_F(RunLogTest, EveryLineHasItsMetricsAndNoTimeIsCountedTwice) {
  const double start = evaluation::wall_seconds();
  train(told_job("m", 6));
  const double seconds = evaluation::wall_seconds() - start;
  const evaluation::RunRecord run = evaluation::read_run(dir_.file("m"));
  EXPECT_EQ(run.end->at("why"), "done");
  EXPECT_EQ(run.start["batch_size"], 8);
  EXPECT_EQ(run.start["settings"]["batch_size"], 8);
  EXPECT_FALSE(run.start.contains("peak_flops"));  // unknown for a CPU
  EXPECT_EQ(*run.saved, 6);
  for (const char* name : {"loss", "masked_lm_loss", "learning_rate", "gradient_norm",
                           "sequences_per_second", "tokens_per_second", "input_share"}) {
    const evaluation::Curve& curve = run.lines.at(name);
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
  EXPECT_GT(run.spent[evaluation::GoodputBucket::compile], 0);
  EXPECT_GT(run.spent[evaluation::GoodputBucket::save], 0);
}

TEST_F(RunLogTest, AResumedRunHasEachRecordOnceAndCountsLostSteps) {
  train(told_job("whole", 6));
  train(told_job("killed", 6));
  io::remove_tree(dir_.file("killed/checkpoint-6"));  // as if it had been killed after step 3
  train(told_job("killed", 6));
  const evaluation::RunRecord whole = evaluation::read_run(dir_.file("whole")),
                              killed = evaluation::read_run(dir_.file("killed"));
  EXPECT_EQ(killed.starts, 2);
  EXPECT_EQ(whole.spent[evaluation::GoodputBucket::lost], 0);
  EXPECT_GT(killed.spent[evaluation::GoodputBucket::lost], 0);
  EXPECT_GT(killed.spent[evaluation::GoodputBucket::restore],
            whole.spent[evaluation::GoodputBucket::restore]);
  const evaluation::Curve &loss = killed.lines.at("loss"), &want = whole.lines.at("loss");
  ASSERT_EQ(loss.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(loss[i].step, want[i].step);
  EXPECT_EQ(loss[0].value, want[0].value);
  EXPECT_EQ(loss[2].value, want[2].value);
}

TEST_F(RunLogTest, RecordsTheErrorOfAFailedRun) {
  TrainJob job = told_job("m", 6);
  job.config.schedule.learning_rate = 1e30;
  EXPECT_NE(error_of([&] { train(job); }), "no error");
  const evaluation::RunRecord run = evaluation::read_run(dir_.file("m"));
  EXPECT_EQ(run.end->at("why"), "failed");
  EXPECT_THAT(run.end->at("message").get<std::string>(), HasSubstr("train: "));
}

// Uses the PJRT name of a device that this machine does not have.
TEST_F(RunLogTest, MfuIsFlopsPerSecondOverThePeakOfAllDevices) {
  const model::Task task = model::bert_task(bert());
  RunLog log(task, {.log_every = 1});
  const model::ReportLayout layout{.figures = {"loss", "gradient_norm", "learning_rate"},
                                   .measures = {}};
  log.begin({.folder = dir_.file("m"),
             .total = 1,
             .batch_size = 8,
             .devices = 4,
             .flops_per_example = 1e9,
             .device_kind = "TPU v3",
             .products = compiler::DType::bf16,
             .settings = Json::object(),
             .data = {}},
            layout);
  log.ready();
  log.step_done(1, std::vector<float>{1, 1, 1});
  log.end(1, "done");
  const evaluation::RunRecord run = evaluation::read_run(dir_.file("m"));
  EXPECT_EQ(run.start["peak_flops"], 4 * 123e12 / 2);
  const double rate = run.lines.at("sequences_per_second").back().value;
  const double mfu = rate * 1e9 / (4 * 61.5e12);
  EXPECT_GT(mfu, 0);
  EXPECT_NEAR(run.lines.at("mfu").back().value, mfu, 1e-5 * mfu);
  EXPECT_THAT(log_.text(), HasSubstr("MFU is relative to 246.0 TFLOP/s (4 x TPU v3, bf16)"));
}

TEST_F(RunLogTest, LogsTheCostOfACompiledStep) {
  train(told_job("m", 2));
  const std::string text = io::read_file(dir_.file("m/metrics.jsonl"));
  const std::size_t at = text.find("{\"kind\":\"ready\"");
  ASSERT_NE(at, std::string::npos);
  const auto cost = evaluation::Record::parse(text.substr(at, text.find('\n', at) - at)).at("cost");
  EXPECT_GE(cost.at("flops"), 8 * model::training_flops(model::bert_task(bert())));
  EXPECT_GT(cost.at("bytes_accessed"), 0);
  EXPECT_GT(cost.at("argument_bytes"), 0);
  EXPECT_THAT(log_.text(), HasSubstr("compiler's estimate for a step on each device: "));
  EXPECT_THAT(events_of("m"), HasSubstr("run/cost"));
  EXPECT_EQ(cost_text({{"flops", 1.5e9}, {"temporary_bytes", 2e6}}),
            "1.50e+09 operations, 2.0 MB temporaries");
  EXPECT_EQ(cost_text(evaluation::Record::object()), "");
}

TEST_F(RunLogTest, WritesGradientHistogramsWithTheOthers) {
  TrainJob plain = told_job("plain", 4), looked = told_job("looked", 4);
  looked.track.histograms_every = 2;
  looked.track.gradient_histograms = true;
  train(plain);
  train(looked);
  EXPECT_EQ(state("looked", 4), state("plain", 4));  // histograms change nothing
  const std::string events = events_of("looked");
  for (const char* kind : {"weights", "updates", "gradients"})
    EXPECT_THAT(events, HasSubstr(str(kind, "/bert/pooler/dense/kernel")));
}

TEST_F(RunLogTest, GradientHistogramsUseClippedGradients) {
  TrainJob one = job("m", 1);
  one.config.optimizer = model::adamw({.beta1 = 0, .weight_decay = 0});
  one.config.clip_norm = 0.01;
  one.save_first = true;
  train(one);
  const auto client = pjrt::open_device("cpu", 1);
  const checkpoint::Checkpoint first = checkpoint::load_checkpoint(dir_.file("m"), 0);
  const model::StepProgram program = training_program(one, "cpu");
  const execution::ModelState state = execution::ModelState::restore(
      *client, program.placement, program.state, first.tensors, first.path);
  const auto source = open_training_data(one);
  const execution::HostState gradients =
      GradientValues(client, one).of(source->batch(0, 8), state, 0);
  const auto after = this->state("m", 1);
  const std::string name = "bert/pooler/dense/kernel";
  EXPECT_EQ(io::tensor_values<float>(gradients.tensors.at(name).slices.front().part),
            after.at(name + "/adam_m"));
}

TEST_F(RunLogTest, ADryRunWritesNothing) {
  TrainJob job = told_job("m", 6);
  job.dry_run = true;
  train(job);
  EXPECT_FALSE(io::exists(dir_.file("m/metrics.jsonl")));
}

// Counts the matmuls of a BERT by its architecture.
TEST_F(RunLogTest, FlopsMatchTheMatmulsOfTheModel) {
  model::BertTask task = bert();
  const double T = 32, P = 5, H = 16, I = 32, V = task.model.vocab_size;
  const double layer = 4 * 2 * T * H * H + 2 * 2 * T * H * I + 2 * 2 * T * T * H;
  const double heads = 2 * H * H + 2 * H * 2 + 2 * P * H * H + 2 * P * H * V;
  const double lookups = 2 * P * T * H + 2 * T * 2 * H;  // of masked positions and of segments
  const double flops = model::training_flops(model::bert_task(task));
  EXPECT_GE(flops, 3 * (layer + heads));
  EXPECT_LE(flops, 3 * (layer + heads + lookups));
  task.model.num_hidden_layers = 3;
  EXPECT_EQ(model::training_flops(model::bert_task(task)) - flops, 3 * 2 * layer);
}

}  // namespace
}  // namespace smelt::train
