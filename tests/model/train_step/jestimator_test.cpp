// JEstimator's BERT with its own masks: results do not depend on devices, micro-batches, scanned
// layers or blocks of words; and evaluation passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/storage/checkpoint.h"
#include "execution/inference/evaluate.h"
#include "execution/train_state/compiled_step.h"
#include "io/filesystem/file.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "runs/golden_bert.h"
#include "runs/golden_jestimator.h"
#include "runs/state_values.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::DType;
using compiler::emit_module;
using compiler::RematPolicy;
namespace {

using testing::HasSubstr;

constexpr std::int64_t kJestimatorSteps = 4, kJestimatorRows = 8;

struct JestimatorRun {
  std::vector<float> losses;
  StateValues last;
};

JestimatorBertTask with_dropout(const std::string& variant) {
  JestimatorBertTask c = GoldenJestimator(variant).settings();
  c.model.attention_dropout_rate = c.model.hidden_dropout_rate = 0.1;
  return c;
}

// Trains on 8 rows from the golden weights.
JestimatorRun learn_from_golden(const std::shared_ptr<const pjrt::Client>& client,
                                const std::string& variant,
                                const std::function<void(TrainingConfig&)>& change = {},
                                const std::string& mesh = "auto") {
  const GoldenJestimator golden(variant);
  TrainingConfig c = golden.config();
  c.batch_size = kJestimatorRows;
  if (change) change(c);
  const StepProgram program =
      train_program(jestimator_bert_task(with_dropout(variant)), c,
                    placement_for("cpu", c.devices, c.reduction,
                                  partition_for({.mesh = mesh, .rules = "vocab=none"}, c.devices)));
  const execution::CompiledStep compiled(client, program);
  execution::ModelState state = execution::ModelState::restore(
      *client, program.placement, program.state, golden.state(), "golden");
  JestimatorRun out;
  for (std::int64_t i = 0; i < kJestimatorSteps; ++i) {
    pjrt::Execution execution = compiled.run(golden.tokens(i), state, i);
    out.losses.push_back(execution.results[0].back().to_host<float>()[0]);
    state.replace(execution.results);
  }
  out.last = values_of(state);
  return out;
}

void expect_same_run(const JestimatorRun& got, const JestimatorRun& want, double limit) {
  for (std::size_t i = 0; i < want.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i], want.losses[i], limit * want.losses[i]) << "step " << i;
  expect_same_state(got.last, want.last, 10 * limit);
}

class JestimatorDraws : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Variants, JestimatorDraws, testing::ValuesIn(GoldenJestimator::variants()),
                         [](const auto& info) { return info.param; });

TEST_P(JestimatorDraws, EightDevicesMatchOne) {
  SMELT_OPEN_CPU(client, 8);
  const JestimatorRun one = learn_from_golden(client, GetParam());
  EXPECT_GT(std::abs(one.losses[0] - one.losses[3]), 1e-3);
  const auto on_eight = [](TrainingConfig& c) { c.devices = 8; };
  expect_same_run(learn_from_golden(client, GetParam(), on_eight), one, 1e-5);
  SCOPED_TRACE("parameters split");
  expect_same_run(learn_from_golden(client, GetParam(), on_eight, "data=2,fsdp=2,tensor=2"), one,
                  1e-5);
}

// Opens eight devices but uses one, to share compiled programs with the test above: the cache key
// includes the number of devices of the client.
TEST_P(JestimatorDraws, MicroBatchesScanAndBlocksMatch) {
  SMELT_OPEN_CPU(client, 8);
  const JestimatorRun whole = learn_from_golden(client, GetParam());
  const auto in_loops = [](TrainingConfig& c) {
    c.compute = {.layers = Layers::scan, .save = RematPolicy::layer};
    c.compute.attention_rows = 5;
    c.compute.logits_bytes = 5000;
    c.micro_batches = 4;
  };
  SCOPED_TRACE("in loops and micro-batches");
  expect_same_run(learn_from_golden(client, GetParam(), in_loops), whole, 1e-6);
  const auto as_on_a_tpu = [](TrainingConfig& c) {
    c.compute = compute_for("tpu", {.precision = Precision::f32_exact, .attention_rows = 5});
  };
  SCOPED_TRACE("as on a TPU");
  expect_same_run(learn_from_golden(client, GetParam(), as_on_a_tpu), whole, 1e-6);
}

TEST(Jestimator, PredictsInVocabularyBlocks) {
  const JestimatorBertTask task = GoldenJestimator(GoldenJestimator::variants()[0]).settings();
  const auto predicts = [&](std::int64_t logits_bytes) {
    const Prediction scores = jestimator_scores(task, 2);
    return emit_module(predict_program(scores, 4, {.logits_bytes = logits_bytes}).program, "p");
  };
  const std::string all =
      str("tensor<", 4 * task.model.max_length, "x", task.model.vocab_size, "xf32>");
  EXPECT_THAT(predicts(0), testing::HasSubstr(all));
  EXPECT_THAT(predicts(5000), testing::Not(testing::HasSubstr(all)));
}

// Within one bf16 unit in the last place, 2^-8.
TEST_P(JestimatorDraws, FirstLossInBf16IsNearF32) {
  SMELT_OPEN_CPU(client, 8);
  const double exact = learn_from_golden(client, GetParam()).losses[0];
  const double narrow = learn_from_golden(client, GetParam(), [](auto& c) {
                          c.compute.dtype = DType::bf16;
                        }).losses[0];
  EXPECT_NEAR(narrow, exact, 0x1p-8 * exact);
  EXPECT_GT(std::abs(narrow / exact - 1), 1e-6);
}

// ---- evaluation ----

class JestimatorEvaluation : public testing::Test {
 protected:
  void SetUp() override {
    checkpoint::save_checkpoint(dir_.file("model"), 7, golden_.state(), {});
    std::string out;
    io::ExampleWriter writer;
    for (std::int64_t i = 0; i < 2; ++i) {
      const data::Batch batch = golden_.tokens(i);
      for (std::int64_t row = 0; row < batch.rows; ++row) {
        const data::Batch one = rows_of(batch, row, row + 1);
        writer.integers("targets", one.arrays[0].values<std::int32_t>());
        io::append_record(out, writer.take());
      }
    }
    io::write_file(dir_.file("records"), out);
  }
  execution::Evaluation run(std::int64_t devices, std::int64_t batch_size, std::int64_t passes) {
    return execution::evaluate({.task = jestimator_bert_task(with_dropout("bert")),
                                .batch_size = batch_size,
                                .on = {.devices = devices},
                                .data = dir_.file("records"),
                                .model_dir = dir_.file("model"),
                                .passes = passes});
  }

  GoldenJestimator golden_{"bert"};
  CapturedLog log_;
  TempDir dir_;
};

TEST_F(JestimatorEvaluation, DoesNotDependOnBatchesAndDevices) {
  SMELT_OPEN_CPU(client, 8);
  const execution::Evaluation want = run(1, 16, 20);
  for (const auto& [devices, rows] : {std::pair{1, 4}, {8, 8}}) {
    const execution::Evaluation got = run(devices, rows, 20);
    ASSERT_EQ(got.measures.size(), 3u);
    for (std::size_t i = 0; i < want.measures.size(); ++i) {
      const MeasuredValue &a = got.measures[i], &b = want.measures[i];
      EXPECT_NEAR(a.value, b.value, 1e-5 * b.value) << b.name;
      EXPECT_NEAR(a.weight, b.weight, 1e-5 * b.weight) << b.name;
    }
  }
}

// The mean over passes lies between the passes, and counts the same number of tokens on average.
TEST_F(JestimatorEvaluation, PassesDrawDifferentMasks) {
  SMELT_OPEN_CPU(client, 1);
  const execution::Evaluation one = run(1, 8, 1), again = run(1, 8, 1), many = run(1, 8, 20);
  EXPECT_EQ(one.measure("mrr").value, again.measure("mrr").value);
  EXPECT_NE(one.measure("masked_lm_loss").value, many.measure("masked_lm_loss").value);
  EXPECT_NEAR(many.measure("mrr").weight, 0.15 * 16 * 20,
              4 * std::sqrt(0.15 * 0.85 * 16 * 20 / 20));
  EXPECT_NEAR(many.loss, one.loss, 0.2 * one.loss);
}

TEST_F(JestimatorEvaluation, PassesRequireATaskThatDraws) {
  EXPECT_THAT(error_of<UsageError>(
                  [&] { eval_program(golden_.task(), 8, placement_for("cpu", 1, {}), {}, 20); }),
              HasSubstr("eval: eval.passes is 20, must be 1 for a model without random draws: "
                        "jestimator_bert\n"
                        "  hint: set eval.passes to 1"));
}

}  // namespace
}  // namespace smelt::model
