// Weights that become 0 while a model learns: when, which, and that they stay so.
#include "step/prune_program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "optim/adamw.h"
#include "runs/golden_classify.h"
#include "runs/probe.h"
#include "runtime/compile_cache.h"
#include "state/placement_options.h"
#include "store/file.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt {
namespace {

class PruneProgram : public testing::Test {
 protected:
  StepProgram training(const Compute& compute = {},
                       const Placement& placement = placement_for("cpu", 1,
                                                                  Reduction::global)) const {
    TrainingConfig config;
    config.batch_size = 4;
    config.devices = placement.devices;
    config.optimizer = keeping_zeros(adamw({}));
    config.clip_norm = 0;
    config.schedule = {.learning_rate = 1e-2, .total_steps = 10};
    config.compute = compute;
    return train_program(classify_task(golden_.settings()), config, placement);
  }
  // So many stay.
  static void prune(const std::shared_ptr<const Client>& client, const StepProgram& step,
                    std::int32_t kept, ModelState& state) {
    const StepProgram program = prune_program(step);
    const Executable executable = compile_cached(*client, emit_module(program.program, "prune"),
                                                 compile_options(program.placement));
    std::vector<Buffer> numbers;
    const auto devices = client->own_devices(step.placement.devices);
    for (const OwnDevice& to : devices)
      numbers.push_back(
          client->to_device(std::as_bytes(std::span(&kept, 1)), {DType::s32, {}}, to.device));
    std::vector<std::vector<const Buffer*>> arguments(devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      arguments[i].push_back(&numbers[i]);
      for (const Buffer* buffer : state.on_device(i, step.state)) arguments[i].push_back(buffer);
    }
    Execution execution = executable.execute(arguments);
    state.replace(execution.results);
  }
  static bool is_matrix(const std::string& name) {
    return name.ends_with("/kernel") && name.find("/layer_") != name.npos;
  }
  ModelState fresh(const std::shared_ptr<const Client>& client, const StepProgram& step) const {
    return ModelState::fresh(*client, step.placement, step.state, 1, golden_.state());
  }
  GoldenClassify golden_{"bert"};
};

// values, or 0 where the mask is.
std::vector<float> masked(std::vector<float> values, const std::vector<float>& mask) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= mask[i];
  return values;
}

TEST_F(PruneProgram, KeepsWhatTensorFlowsRuleKeepsByNumpyInEveryForm) {
  REQUIRE_ORACLE();
  SMELT_OPEN_CPU(client, 2);
  const StepProgram one = training();
  const StateValues before = values_of(fresh(client, one));
  TensorMap matrices;
  for (const auto& [name, values] : before)
    if (is_matrix(name))
      matrices[name] = {{DType::f32, {std::ssize(values)}}, std::as_bytes(std::span(values))};
  ASSERT_EQ(matrices.size(), 12);
  const std::uint64_t weights = prunable_weights(one.state);
  const std::uint64_t kept = kept_of(weights, 0.7);
  const TempDir dir;
  write_file(dir.file("in"), safetensors_bytes(matrices));
  const auto said =
      run_command(str(oracle_python(), " ", source_path("tools/pruning_twin.py"), " ",
                      dir.file("in"), " ", dir.file("out"), " --kept ", kept,
                      " --begin 30 --end 830 --every 50 --steps 1000 --sparsity 0.7"));
  ASSERT_EQ(said.status, 0) << said.text;
  const SafetensorsFile twin(read_file(dir.file("out")), "out");
  const auto schedule = tensor_values<double>(twin.at("schedule"));
  const PruningSchedule own{.sparsity = 0.7, .begin = 30, .end = 830, .every = 50};
  for (std::int64_t t = 0; t <= 1000; ++t) {  // at the begin nothing is 0 yet
    const double want = schedule[static_cast<std::size_t>(t)];
    EXPECT_EQ(is_pruned_at(own, t), want > 0) << t;
    if (want > 0) {
      EXPECT_NEAR(sparsity_at(own, t), want, 1e-12) << t;
    }
  }
  const auto expect_pruned = [&](const StepProgram& step) {
    ModelState state = fresh(client, step);
    for (int times = 0; times < 2; ++times) {  // the second changes nothing
      prune(client, step, static_cast<std::int32_t>(kept), state);
      std::uint64_t left = 0;
      for (const auto& [name, values] : values_of(state)) {
        if (!is_matrix(name)) {
          EXPECT_EQ(values, before.at(name)) << name;
          continue;
        }
        EXPECT_EQ(values, masked(before.at(name), tensor_values<float>(twin.at(name)))) << name;
        left += values.size() - static_cast<std::size_t>(std::ranges::count(values, 0.0F));
      }
      EXPECT_EQ(left, kept);
    }
  };
  expect_pruned(one);
  expect_pruned(training({.layers = Layers::scan}));
  expect_pruned(training({}, placement_for("cpu", 2, Reduction::global)));
  for (const char* mesh : {"fsdp=2", "tensor=2"})
    expect_pruned(training({.layers = Layers::scan},
                           placement_for("tpu", 2, Reduction::global,
                                         partition_for({.mesh = mesh, .rules = "vocab=none"}, 2))));
}

TEST_F(PruneProgram, LeavesZerosThatTrainingKeeps) {
  SMELT_OPEN_CPU(client, 1);
  const StepProgram step = training();
  ModelState state = fresh(client, step);
  prune(client, step, static_cast<std::int32_t>(kept_of(prunable_weights(step.state), 0.7)), state);
  const StateValues before = values_of(state);
  const CompiledStep compiled(client, step);
  for (int i = 0; i < 3; ++i) {
    Execution execution = compiled.run(golden_.batch(), state, i);
    state.replace(execution.results);
  }
  for (const auto& [name, values] : values_of(state)) {
    if (!is_matrix(name)) continue;
    std::size_t moved = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float was = before.at(name)[i];
      if (was == 0)
        EXPECT_EQ(values[i], 0) << name << " " << i;
      else
        moved += values[i] != was ? 1 : 0;
    }
    EXPECT_GT(moved, 0) << name;
  }
}

TEST(PruningSchedule, EndsAFifthOfTheStepsBeforeTheEndOfAnyRun) {
  for (const std::int64_t steps : {1, 2, 5, 30, 100, 1000, 1999, 20000})
    for (const std::int64_t warmup : {0, 1, 100, 30000}) {
      const PruningSchedule s = pruning_over(steps, warmup, 0.9);
      EXPECT_LE(s.end, steps * 4 / 5);
      EXPECT_GT(s.end + s.every, steps * 4 / 5);
      EXPECT_LE(s.begin, std::max<std::int64_t>(warmup, 0));
      EXPECT_TRUE(is_pruned_at(s, s.end));
      EXPECT_EQ(sparsity_at(s, s.end), 0.9);
      EXPECT_FALSE(is_pruned_at(s, s.end + s.every));
    }
  EXPECT_EQ(pruning_over(20000, 100, 0.9).every, 100);
  EXPECT_EQ(pruning_over(1000, 100, 0.9).every, 50);
}

}  // namespace
}  // namespace smelt
