// How a model is computed does not change what it learns: scanned layers, narrower matmuls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ir/op.h"
#include "compiler/stablehlo/writer.h"
#include "execution/train_state/compiled_step.h"
#include "runs/golden_bert.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "runs/small_run.h"
#include "runs/state_values.h"
#include "support/error_of.h"

namespace smelt::model {

using compiler::DType;
using compiler::emit_module;
using compiler::RematPolicy;
using compiler::Tensor;
namespace {

using testing::HasSubstr;

constexpr double kSame = 1e-6;  // relative; f32 sums in another order

ComputePolicy scanned(RematPolicy save) { return {.layers = Layers::scan, .save = save}; }

struct Ran {
  std::vector<float> losses;
  StateValues first, last;  // state after the first step and at the end
};

// Trains on 8 sequences with dropout, starting from the golden weights.
class ComputeTest : public testing::Test {
 protected:
  static constexpr int kSteps = 4;

  static StepProgram program(const ComputePolicy& compute, std::int64_t devices,
                             double dropout = 0.1) {
    const GoldenBert golden;
    BertTask bert = golden.task();
    bert.model.hidden_dropout_prob = bert.model.attention_probs_dropout_prob = dropout;
    TrainingConfig config = golden.config();
    config.batch_size = 8;
    config.devices = devices;
    config.compute = compute;
    return train_program(bert_task(bert), config, placement_for("cpu", devices, Reduction::global));
  }

  static Ran run(const std::shared_ptr<const pjrt::Client>& client, const ComputePolicy& compute,
                 int devices = 1) {
    const GoldenBert golden;
    const StepProgram step = program(compute, devices);
    const execution::CompiledStep compiled(client, step);
    execution::ModelState state = execution::ModelState::restore(
        *client, step.placement, step.state, golden.state(), "golden");
    Ran out;
    for (int i = 0; i < kSteps; ++i) {
      pjrt::Execution execution = compiled.run(golden.double_batch(i), state, i);
      out.losses.push_back(execution.results[0].back().to_host<float>()[0]);
      state.replace(execution.results);
      if (i == 0) out.first = values_of(state);
    }
    out.last = values_of(state);
    return out;
  }
};

void expect_same(const Ran& got, const Ran& want) {
  for (std::size_t i = 0; i < want.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i], want.losses[i], kSame * want.losses[i]) << "step " << i;
  expect_same_state(got.first, want.first,
                    kSame);  // moments are 0.1 times the gradient and 0.001 times its square
  expect_same_state(got.last, want.last, kSame);
}

// Checks that bf16 results are within one unit in the last place, 2^-8.
void expect_near(const Ran& got, const Ran& exact) {
  for (std::size_t i = 0; i < exact.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i], exact.losses[i], 0x1p-8 * exact.losses[i]) << "step " << i;
  EXPECT_GT(std::abs(got.losses[0] / exact.losses[0] - 1), kSame);  // the results are not identical
}

TEST_F(ComputeTest, ScannedLayersMatchUnrolledOnesAndNearlyInBf16) {
  SMELT_OPEN_CPU(client, 1);
  const Ran unrolled = run(client, {});
  EXPECT_GT(std::abs(unrolled.losses[0] - unrolled.losses[3]), 1e-3);
  expect_same(run(client, scanned(RematPolicy::all)), unrolled);
  ComputePolicy least = scanned(RematPolicy::layer);
  least.attention_rows = 4;
  expect_same(run(client, least), unrolled);
  // In f32 with exact products; otherwise TPU rounding would be emulated here too.
  const auto as_on_a_tpu = [](const ComputeOptions& choice) { return compute_for("tpu", choice); };
  expect_same(
      run(client, as_on_a_tpu({.precision = Precision::f32_exact, .layers = Layers::unrolled})),
      unrolled);
  expect_same(run(client, as_on_a_tpu({.precision = Precision::f32_exact})), unrolled);
  expect_near(run(client, as_on_a_tpu({.precision = Precision::bf16, .layers = Layers::unrolled})),
              unrolled);
  expect_near(run(client, {.dtype = DType::bf16}), unrolled);
  expect_near(run(client, {.dtype = DType::bf16, .attention_rows = 4}), unrolled);
}

TEST_F(ComputeTest, ScannedLayersMatchOnEightDevicesAndNearlyInBf16) {
  SMELT_OPEN_CPU(client, 8);
  ComputePolicy loop = scanned(RematPolicy::products);
  const Ran unrolled = run(client, {}, 8);
  expect_same(run(client, loop, 8), unrolled);
  loop.dtype = DType::bf16;
  expect_near(run(client, loop, 8), unrolled);
}

// Checks the optimizer's inputs, and the program's arguments and results.
TEST_F(ComputeTest, ParametersSlotsAndGradientsAreF32InBf16) {
  const GoldenBert golden;
  for (const Layers layers : {Layers::unrolled, Layers::scan}) {
    TrainingConfig config = golden.config();
    config.compute = {.dtype = DType::bf16, .layers = layers};
    config.clip_norm = 0;  // so that the optimizer gets the unclipped gradients
    std::size_t seen = 0;
    const Optimizer inner = config.optimizer;
    config.optimizer.update = [&](const OptimizerStep& step, const Parameter& p,
                                  std::span<const Tensor> slots, Tensor gradient) {
      EXPECT_EQ(gradient.shape(), p.tensor.shape()) << p.name;
      EXPECT_EQ(gradient.dtype(), DType::f32) << p.name;
      if (p.name.ends_with("/kernel")) {  // the matmul's f32 sums, not rounded to bf16
        EXPECT_NE(gradient.node().op->name, "convert") << p.name;
      }
      ++seen;
      return inner.update(step, p, slots, gradient);
    };
    const StepProgram step =
        train_program(bert_task(golden.task()), config, placement_for("tpu", 1, {}));
    EXPECT_EQ(seen, step.state.values);
    for (const StateTensor& tensor : step.state.tensors) EXPECT_EQ(tensor.shape.dtype, DType::f32);
    for (const Tensor& argument : step.program.graph.arguments())
      EXPECT_NE(argument.dtype(), DType::bf16);
    for (const Tensor& result : step.program.results) EXPECT_EQ(result.dtype(), DType::f32);
    EXPECT_THAT(emit_module(step.program, "step"), HasSubstr("xbf16>"));
  }
}

// bf16 has too few digits: 1 + erf(x) near -1 would be off by half its value.
TEST(ComputeInBf16, TranscendentalFunctionsAreComputedInF32) {
  ClassifyTask electra = GoldenClassify("electra").settings();
  electra.dropout = 0.1;
  for (const Task& task :
       {bert_task(GoldenBert().task()), classify_task(electra),
        classify_task(GoldenClassify("bert").settings()), t5_task(GoldenT5("gated").settings())}) {
    TrainingConfig config = GoldenBert().config();
    config.compute.dtype = DType::bf16;
    const std::string text =
        emit_module(train_program(task, config, placement_for("cpu", 1, {})).program, "step");
    std::int64_t seen = 0;
    for (const std::string_view line : split(std::string_view(text), '\n'))
      for (const char* op : {"chlo.erf", "stablehlo.exponential", "stablehlo.tanh", "stablehlo.log",
                             "stablehlo.sqrt", "stablehlo.rsqrt"})
        if (line.find(op) != line.npos) {
          ++seen;
          EXPECT_EQ(line.find("bf16"), line.npos) << task.name << ": " << line;
        }
    EXPECT_GT(seen, 10) << task.name;
  }
}

// ---- checkpoints ----

class ComputeRun : public SmallRun {
 protected:
  train::TrainJob deep_job(const std::string& model, const ComputePolicy& compute) const {
    BertTask deep = bert();
    deep.model.num_hidden_layers = 2;
    // With an initializer range of 0.02 such a narrow model has scores near 0, and query gradients
    // are mostly rounding.
    deep.model.initializer_range = 0.1;
    train::TrainJob out = job(model, 15);
    out.task = bert_task(deep);
    out.config.compute = compute;
    return out;
  }
};

TEST_F(ComputeRun, RunCanResumeWithScannedOrUnrolledLayers) {
  train::train(deep_job("unrolled", {}));
  const auto want = state("unrolled", 15);
  EXPECT_TRUE(want.contains("bert/encoder/layer_1/output/dense/kernel/adam_m"));
  cut_back(dir_.file("unrolled"), dir_.file("scanned"), 5);
  EXPECT_EQ(train::train(deep_job("scanned", scanned(RematPolicy::products))).first_step, 5);
  expect_same_state(state("scanned", 15), want, kSame);
  cut_back(dir_.file("scanned"), dir_.file("unrolled_again"), 10);
  EXPECT_EQ(train::train(deep_job("unrolled_again", {})).first_step, 10);
  expect_same_state(state("unrolled_again", 15), want, kSame);
}

// Initial weights are drawn by their names in the checkpoint.
TEST_F(ComputeRun, StackedWeightsStartLikeUnrolledOnes) {
  SMELT_OPEN_CPU(client, 1);
  const auto fresh = [&](const ComputePolicy& compute) {
    const train::TrainJob one = deep_job("model", compute);
    const StepProgram program = train_program(one.task, one.config, placement_for("cpu", 1, {}));
    return values_of(execution::ModelState::fresh(*client, program.placement, program.state, 7));
  };
  EXPECT_EQ(fresh({.layers = Layers::scan}), fresh({}));
}

// ---- values in recipes ----

TEST(ComputeFor, ChoosesByPlatform) {
  const ComputePolicy cpu = compute_for("cpu", {}), tpu = compute_for("tpu", {});
  EXPECT_EQ(cpu.layers, Layers::unrolled);
  EXPECT_TRUE(cpu.joined_products);
  EXPECT_EQ(tpu.layers, Layers::scan);
  EXPECT_EQ(tpu.save, RematPolicy::products);
  EXPECT_FALSE(tpu.joined_products);
  EXPECT_TRUE(cpu.stored_scores);
  EXPECT_FALSE(tpu.stored_scores);
  EXPECT_TRUE(tpu.softmax_by_context);
  EXPECT_FALSE(cpu.softmax_by_context);
  // With this policy the scores of a layer are recomputed anyway.
  EXPECT_TRUE(compute_for("tpu", {.save = RematPolicy::layer}).stored_scores);
  EXPECT_EQ(tpu.dtype, DType::f32);
  EXPECT_EQ(compute_for("tpu", {.layers = Layers::unrolled}).save, RematPolicy::all);
  EXPECT_EQ(compute_for("cpu", {.layers = Layers::scan, .save = RematPolicy::layer}).save,
            RematPolicy::layer);
  EXPECT_EQ(compute_for("cpu", {.precision = Precision::bf16}).dtype, DType::bf16);
}

// Gradient norms are such sums, over 65536 elements and more.
TEST(PlacementFor, CpuSumsParametersInF64) {
  BertTask wide = GoldenBert().task();
  wide.model.vocab_size = 65536;
  const auto text = [&](const char* platform) {
    return emit_module(train_program(bert_task(wide), GoldenBert().config(),
                                     placement_for(platform, 1, Reduction::global))
                           .program,
                       "step");
  };
  EXPECT_THAT(text("cpu"), HasSubstr("xf64>"));
  EXPECT_THAT(text("tpu"), testing::Not(HasSubstr("xf64>")));
}

TEST(ComputeFor, RejectsUnknownValues) {
  const auto refusal = [](const ComputeOptions& choice) {
    return error_of<UsageError>([&] { compute_for("cpu", choice); });
  };
  EXPECT_EQ(error_of<UsageError>([] { parse_precision("train.precision.compute", "fp16"); }),
            "train.precision.compute 'fp16' is unknown\n  hint: did you mean 'bf16'?");
  EXPECT_EQ(error_of<UsageError>([] { parse_layers("train.memory.layers", "scann"); }),
            "train.memory.layers 'scann' is unknown\n  hint: did you mean 'scan'?");
  EXPECT_EQ(error_of<UsageError>([] { parse_save("train.memory.remat_policy", "product"); }),
            "train.memory.remat_policy 'product' is unknown\n  hint: did you mean 'products'?");
  EXPECT_EQ(parse_layers("train.memory.layers", "auto"), std::nullopt);
  EXPECT_EQ(refusal({.layers = Layers::unrolled, .save = RematPolicy::layer}),
            "train.memory.remat_policy 'layer' with train.memory.layers 'unrolled': requires "
            "layers 'scan'\n"
            "  hint: set train.memory.layers to scan");
  EXPECT_EQ(compute_for("cpu", {.save = RematPolicy::layer}).layers, Layers::scan);
}

}  // namespace
}  // namespace smelt::model
