// How a model is computed does not change what it learns: layers in a loop, narrower products.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "ir/op.h"
#include "support/error_of.h"
#include "train/compiled_step.h"
#include "train/golden_bert.h"
#include "train/small_run.h"

namespace smelt {
namespace {

using testing::HasSubstr;

constexpr double kSame = 1e-6;  // relative: other orders of sums in f32
constexpr std::array kPolicies{Save::all, Save::products, Save::layer};

Compute scanned(Save save) { return {.layers = Layers::scan, .save = save}; }

using StateValues = std::map<std::string, std::vector<float>>;

struct Ran {
  std::vector<float> losses;
  StateValues first, last;  // the state after the first step and at the end
};

// Steps of 8 sequences with dropout from the golden weights.
class ComputeTest : public testing::Test {
 protected:
  static constexpr int kSteps = 4;

  static StepProgram program(const Compute& compute, std::int64_t devices, double dropout = 0.1) {
    const GoldenBert golden;
    BertTask bert = golden.task();
    bert.model.hidden_dropout_prob = bert.model.attention_probs_dropout_prob = dropout;
    TrainingConfig config = golden.config();
    config.batch_size = 8;
    config.devices = devices;
    config.compute = compute;
    return train_program(bert_task(bert), config, placement_for("cpu", devices, Reduction::global));
  }

  static StateValues values_of(const ModelState& state) {
    StateValues values;
    const HostState host = state.download();
    for (const auto& [name, view] : host.tensors) values[name] = tensor_values<float>(view);
    return values;
  }

  static Ran run(const std::shared_ptr<const Client>& client, const Compute& compute,
                 int devices = 1) {
    const GoldenBert golden;
    const StepProgram step = program(compute, devices);
    const CompiledStep compiled(client, step);
    ModelState state =
        ModelState::restore(*client, step.placement, step.state, golden.state(), "golden");
    Ran out;
    for (int i = 0; i < kSteps; ++i) {
      Execution execution = compiled.run(golden.double_batch(i), state, i);
      out.losses.push_back(execution.results[0].back().to_host<float>()[0]);
      state.replace(execution.results);
      if (i == 0) out.first = values_of(state);
    }
    out.last = values_of(state);
    return out;
  }
};

double norm_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

double norm_of_difference(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> differences;
  for (std::size_t i = 0; i < b.size(); ++i) differences.push_back(a[i] - b[i]);
  return norm_of(differences);
}

// A key's bias shifts all scores of a query alike: its gradient is nothing but rounding, which Adam
// scales up.
bool only_rounding(const std::string& name) { return name.find("/key/bias") != std::string::npos; }

void expect_same(const StateValues& got, const StateValues& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, values] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    ASSERT_EQ(got.at(name).size(), values.size()) << name;
    if (only_rounding(name)) continue;
    const double limit = name.ends_with("/adam_v") ? 2 * kSame : kSame;  // of squares
    EXPECT_LE(norm_of_difference(got.at(name), values), limit * norm_of(values)) << name;
  }
}

void expect_same(const Ran& got, const Ran& want) {
  for (std::size_t i = 0; i < want.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i], want.losses[i], kSame * want.losses[i]) << "step " << i;
  expect_same(got.first, want.first);  // moments are a tenth of the gradient, and its square
  expect_same(got.last, want.last);
}

TEST_F(ComputeTest, LayersInALoopLearnWhatUnrolledOnesDo) {
  SMELT_OPEN_CPU(client, 1);
  const Ran unrolled = run(client, {});
  EXPECT_GT(std::abs(unrolled.losses[0] - unrolled.losses[3]), 1e-3);
  for (const Save save : kPolicies) {
    SCOPED_TRACE(static_cast<int>(save));
    expect_same(run(client, scanned(save)), unrolled);
  }
}

TEST_F(ComputeTest, LayersInALoopLearnTheSameOnEightDevices) {
  SMELT_OPEN_CPU(client, 8);
  const Ran unrolled = run(client, {}, 8);
  for (const Save save : kPolicies) {
    SCOPED_TRACE(static_cast<int>(save));
    expect_same(run(client, scanned(save), 8), unrolled);
  }
}

// ---- bf16 ----

// Within one unit of the last place that bf16 has, 2^-8.
TEST_F(ComputeTest, InBf16LossesAreNearThoseOfF32) {
  SMELT_OPEN_CPU(client, 8);
  const Ran exact = run(client, {});
  const Ran one = run(client, {.dtype = DType::bf16});
  const Ran eight =
      run(client, {.dtype = DType::bf16, .layers = Layers::scan, .save = Save::products}, 8);
  for (const Ran& got : {one, eight}) {
    for (std::size_t i = 0; i < kSteps; ++i)
      EXPECT_NEAR(got.losses[i], exact.losses[i], 0x1p-8 * exact.losses[i]) << "step " << i;
    EXPECT_GT(std::abs(got.losses[0] / exact.losses[0] - 1), kSame);  // it is another computation
  }
}

// What the optimizer is given, and what arrives and leaves.
TEST_F(ComputeTest, InBf16ParametersSlotsAndGradientsAreF32) {
  const GoldenBert golden;
  for (const Layers layers : {Layers::unrolled, Layers::scan}) {
    TrainingConfig config = golden.config();
    config.compute = {.dtype = DType::bf16, .layers = layers};
    config.clip_norm = 0;  // the optimizer sees the gradients themselves
    std::size_t seen = 0;
    const Optimizer inner = config.optimizer;
    config.optimizer.update = [&](const OptimizerStep& step, const std::string& name, Tensor value,
                                  std::span<const Tensor> slots, Tensor gradient) {
      EXPECT_EQ(gradient.shape(), value.shape()) << name;
      EXPECT_EQ(gradient.dtype(), DType::f32) << name;
      if (name.ends_with("/kernel")) {  // a product's own sums, not what bf16 left of them
        EXPECT_NE(gradient.node().op->name, "convert") << name;
      }
      ++seen;
      return inner.update(step, name, value, slots, gradient);
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

// ---- one checkpoint for all ----

class ComputeRun : public SmallRun {
 protected:
  TrainJob deep_job(const std::string& model, const Compute& compute) const {
    BertTask deep = bert();
    deep.model.num_hidden_layers = 3;
    TrainJob out = job(model, 10);
    out.task = bert_task(deep);
    out.config.compute = compute;
    return out;
  }
};

TEST_F(ComputeRun, ARunGoesOnWithLayersInALoopOrUnrolled) {
  const Compute loop{.layers = Layers::scan, .save = Save::products};
  train(deep_job("unrolled", {}));
  train(deep_job("scanned", loop));
  const auto want = state("unrolled", 10);
  EXPECT_TRUE(want.contains("bert/encoder/layer_2/output/dense/kernel/adam_m"));
  for (const auto& [from, compute] : {std::pair{"unrolled", loop}, {"scanned", Compute{}}}) {
    const std::string resumed = str("from_", from);
    cut_back(dir_.file(from), dir_.file(resumed), 5);
    EXPECT_EQ(train(deep_job(resumed, compute)).first_step, 5);
    expect_same(state(resumed, 10), want);
  }
  expect_same(state("scanned", 10), want);
}

// The first weights are drawn by their names in the checkpoint.
TEST_F(ComputeRun, StackedWeightsBeginAsUnrolledOnes) {
  SMELT_OPEN_CPU(client, 1);
  const auto fresh = [&](const Compute& compute) {
    const TrainJob one = deep_job("model", compute);
    const StepProgram program = train_program(one.task, one.config, placement_for("cpu", 1, {}));
    const HostState host =
        ModelState::fresh(*client, program.placement, program.state, 7).download();
    StateValues values;
    for (const auto& [name, view] : host.tensors) values[name] = tensor_values<float>(view);
    return values;
  };
  EXPECT_EQ(fresh({.layers = Layers::scan}), fresh({}));
}

// ---- a recipe's words ----

TEST(ComputeFor, ChoosesByPlatform) {
  const Compute cpu = compute_for("cpu", {}), tpu = compute_for("tpu", {});
  EXPECT_EQ(cpu.layers, Layers::unrolled);
  EXPECT_TRUE(cpu.joined_products);
  EXPECT_EQ(tpu.layers, Layers::scan);
  EXPECT_EQ(tpu.save, Save::products);
  EXPECT_FALSE(tpu.joined_products);
  EXPECT_EQ(tpu.dtype, DType::f32);
  EXPECT_EQ(compute_for("tpu", {.layers = "unrolled"}).save, Save::all);
  EXPECT_EQ(compute_for("cpu", {.layers = "scan", .save = "layer"}).save, Save::layer);
  EXPECT_EQ(compute_for("cpu", {.precision = "bf16"}).dtype, DType::bf16);
}

TEST(ComputeFor, NamesTheWordThatItDoesNotKnow) {
  const auto refusal = [](const ComputeChoice& choice) {
    return error_of<UsageError>([&] { compute_for("cpu", choice); });
  };
  EXPECT_EQ(refusal({.precision = "fp16"}),
            "train.precision 'fp16' is unknown\n  hint: did you mean 'bf16'?");
  EXPECT_EQ(refusal({.layers = "scann"}),
            "train.layers 'scann' is unknown\n  hint: did you mean 'scan'?");
  EXPECT_EQ(refusal({.layers = "scan", .save = "product"}),
            "train.save 'product' is unknown\n  hint: did you mean 'products'?");
  EXPECT_EQ(refusal({.save = "layer"}),
            "train.save 'layer' with train.layers 'unrolled', which keep all\n"
            "  hint: set train.layers to scan");
  EXPECT_THAT(error_of([] { compute_for("cpu", {.precision = "half"}, "bench"); }),
              HasSubstr("bench.precision 'half' is unknown\n  hint: "));
}

}  // namespace
}  // namespace smelt
