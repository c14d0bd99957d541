// Pruning during training: when, which weights, and that zeros stay.
#include "model/train_step/prune_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "execution/train_state/placement_options.h"
#include "io/filesystem/file.h"
#include "model/optim/adamw.h"
#include "model/optim/soft_pruning.h"
#include "pjrt/compile_cache.h"
#include "runs/golden_classify.h"
#include "runs/probe.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::DType;
using compiler::emit_module;
namespace {

using testing::HasSubstr;

// A form of the program and a number of devices.
struct Form {
  ComputePolicy compute = {};
  ShardingPlan placement = placement_for("cpu", 1, Reduction::global);
};

class PruneProgram : public testing::Test {
 protected:
  static std::vector<Form> forms() {
    std::vector<Form> out{{},
                          {.compute = {.layers = Layers::scan}},
                          {.placement = placement_for("cpu", 2, Reduction::global)}};
    for (const char* mesh : {"fsdp=2", "tensor=2"})
      out.push_back(
          {.compute = {.layers = Layers::scan},
           .placement = placement_for("tpu", 2, Reduction::global,
                                      partition_for({.mesh = mesh, .rules = "vocab=none"}, 2))});
    return out;
  }
  static constexpr SoftPruning kSoft{.penalty = 0.05, .rate = 0.8};
  StepProgram training(const Form& form = {}, PruneBy by = PruneBy::magnitude) const {
    TrainingConfig config;
    config.batch_size = 4;
    config.devices = form.placement.devices;
    config.optimizer = keeping_zeros(adamw({}));
    if (by == PruneBy::movement) config.optimizer = counting_movement(config.optimizer);
    if (by == PruneBy::soft)
      config.optimizer = learning_scores(config.optimizer, kSoft, prune_softly(10, 0).schedule);
    config.clip_norm = 0;
    config.schedule = {.learning_rate = 1e-2, .total_steps = 10};
    config.compute = form.compute;
    return train_program(classify_task(golden_.settings()), config, form.placement);
  }
  // Prunes so that this number of weights is kept.
  static void prune(const std::shared_ptr<const pjrt::Client>& client, const StepProgram& step,
                    std::int32_t kept, execution::ModelState& state, const Pruning& pruning = {}) {
    const StepProgram program = prune_program(step, pruning);
    const pjrt::Executable executable =
        pjrt::compile_cached(*client, emit_module(program.program, "prune"),
                             execution::compile_options(program.placement));
    std::vector<pjrt::Buffer> numbers;
    const auto devices = client->own_devices(step.placement.devices);
    for (const pjrt::OwnDevice& to : devices)
      numbers.push_back(
          client->to_device(std::as_bytes(std::span(&kept, 1)), {DType::s32, {}}, to.device));
    std::vector<std::vector<const pjrt::Buffer*>> arguments(devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      arguments[i].push_back(&numbers[i]);
      for (const pjrt::Buffer* buffer : state.on_device(i, step.state))
        arguments[i].push_back(buffer);
    }
    pjrt::Execution execution = executable.execute(arguments);
    state.replace(execution.results);
  }
  static bool is_matrix(const std::string& name) {
    return name.ends_with("/kernel") && name.find("/layer_") != name.npos;
  }
  execution::ModelState fresh(const std::shared_ptr<const pjrt::Client>& client,
                              const StepProgram& step) const {
    return execution::ModelState::fresh(*client, step.placement, step.state, 1, golden_.state());
  }
  GoldenClassify golden_{"bert"};
};

// Returns the values with masked ones set to 0.
std::vector<float> masked(std::vector<float> values, const std::vector<float>& mask) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= mask[i];
  return values;
}

TEST_F(PruneProgram, MatchesTensorFlowWithScanReplicasAndMeshes) {
  REQUIRE_ORACLE();
  SMELT_OPEN_CPU(client, 2);
  const StepProgram one = training();
  const StateValues before = values_of(fresh(client, one));
  io::TensorMap matrices;
  for (const auto& [name, values] : before)
    if (is_matrix(name))
      matrices[name] = {{DType::f32, {std::ssize(values)}}, std::as_bytes(std::span(values))};
  ASSERT_EQ(matrices.size(), 12);
  const std::uint64_t weights = prunable_weights(one.state);
  const std::uint64_t kept = kept_of(weights, 0.7);
  const TempDir dir;
  io::write_file(dir.file("in"), io::safetensors_bytes(matrices));
  const auto output = run_oracle(
      str(source_path("tools/pruning_twin.py"), " ", dir.file("in"), " ", dir.file("out"),
          " --kept ", kept, " --begin 30 --end 830 --every 50 --steps 1000 --sparsity 0.7"));
  ASSERT_EQ(output.status, 0) << output.text;
  const io::SafetensorsFile twin(io::read_file(dir.file("out")), "out");
  const auto schedule = io::tensor_values<double>(twin.at("schedule"));
  const PruningSchedule own{.sparsity = 0.7, .begin = 30, .end = 830, .every = 50};
  for (std::int64_t t = 0; t <= 1000; ++t) {  // at the begin step nothing is 0 yet
    const double want = schedule[static_cast<std::size_t>(t)];
    EXPECT_EQ(is_pruned_at(own, t), want > 0) << t;
    if (want > 0) {
      EXPECT_NEAR(sparsity_at(own, t), want, 1e-12) << t;
    }
  }
  const auto expect_pruned = [&](const StepProgram& step) {
    execution::ModelState state = fresh(client, step);
    for (int times = 0; times < 2; ++times) {  // the second call changes nothing
      prune(client, step, static_cast<std::int32_t>(kept), state);
      std::uint64_t left = 0;
      for (const auto& [name, values] : values_of(state)) {
        if (!is_matrix(name)) {
          EXPECT_EQ(values, before.at(name)) << name;
          continue;
        }
        EXPECT_EQ(values, masked(before.at(name), io::tensor_values<float>(twin.at(name)))) << name;
        left += values.size() - static_cast<std::size_t>(std::ranges::count(values, 0.0F));
      }
      EXPECT_EQ(left, kept);
    }
  };
  for (const Form& form : forms()) expect_pruned(training(form));
}

TEST_F(PruneProgram, MovementKeepsWeightsThatMovedAwayFromZero) {
  SMELT_OPEN_CPU(client, 2);
  const std::vector<Form> all_forms = forms();
  for (const Form& form : {all_forms.front(), all_forms.back()}) {
    const StepProgram step = training(form, PruneBy::movement);
    const std::uint64_t weights = prunable_weights(step.state), kept = kept_of(weights, 0.3);
    execution::ModelState state = fresh(client, step);
    // some weights are 0
    prune(client, step, static_cast<std::int32_t>(kept_of(weights, 0.1)), state);
    const execution::CompiledStep compiled(client, step);
    StateValues before, after = values_of(state);
    for (int i = 0; i < 2; ++i) {
      before = std::exchange(after, {});
      pjrt::Execution execution = compiled.run(golden_.batch(), state, i);
      state.replace(execution.results);
      after = values_of(state);
    }
    std::vector<std::pair<float, float>> all;  // movement (lowest for zeros) and weight
    for (const auto& [name, values] : after) {
      if (!is_matrix(name)) continue;
      const auto of = [&](const StateValues& from, const char* slot) -> const std::vector<float>& {
        return from.at(str(name, "/", slot));
      };
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float was = before.at(name)[i], m = of(before, "adam_m")[i];
        const float gradient = (of(after, "adam_m")[i] - 0.9F * m) / 0.1F;
        const float moved = of(before, kMovement)[i] - gradient * was;
        EXPECT_NEAR(of(after, kMovement)[i], moved, 1e-6 * (1 + std::abs(moved))) << name << i;
        const float least = -std::numeric_limits<float>::infinity();
        all.emplace_back(values[i] == 0 ? least : of(after, kMovement)[i], values[i]);
      }
    }
    ASSERT_EQ(all.size(), weights);
    prune(client, step, static_cast<std::int32_t>(kept), state, {.by = PruneBy::movement});
    std::ranges::sort(all, std::greater());
    const float last = all[kept - 1].first;
    ASSERT_GT(last, -1e30F);
    std::size_t left = 0, negative = 0;
    for (const auto& [name, values] : values_of(state)) {
      if (!is_matrix(name)) continue;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float was = after.at(name)[i], moved = after.at(str(name, "/", kMovement))[i];
        EXPECT_EQ(values[i], was != 0 && moved >= last ? was : 0) << name << i;
        left += values[i] != 0 ? 1 : 0;
        negative += values[i] != 0 && moved < 0 ? 1 : 0;
      }
    }
    EXPECT_EQ(left, kept);
    EXPECT_GT(negative, 0);  // both signs occur
  }
}

// Adam on the scores of huggingface/block_movement_pruning, in double.
TEST_F(PruneProgram, SoftPruningDropsScoresBelowTheThreshold) {
  SMELT_OPEN_CPU(client, 2);
  const std::vector<Form> all_forms = forms();
  const PruningSchedule schedule = prune_softly(10, 0).schedule;
  for (const Form& form : {all_forms.front(), all_forms.back()}) {
    const StepProgram step = training(form, PruneBy::soft);
    execution::ModelState state = fresh(client, step);
    const execution::CompiledStep compiled(client, step);
    StateValues before, after = values_of(state);
    constexpr int kSteps = 6;
    for (int i = 0; i < kSteps; ++i) {
      before = std::exchange(after, {});
      pjrt::Execution execution = compiled.run(golden_.batch(), state, i);
      state.replace(execution.results);
      after = values_of(state);
    }
    const double left = 1 - (kSteps - 1.0) / static_cast<double>(schedule.end);
    for (const auto& [name, values] : after) {
      if (!is_matrix(name)) continue;
      const double pull = kSoft.penalty * (1 - left * left * left) / std::ssize(values);
      for (std::size_t i = 0; i < values.size(); i += 7) {
        const auto was = [&](const char* slot) -> double { return before.at(name + slot)[i]; };
        const auto is = [&](const char* slot) -> double { return after.at(name + slot)[i]; };
        const double gradient = (is("/adam_m") - 0.9 * was("/adam_m")) / 0.1;
        const double over = 1 / (1 + std::exp(-was("/score")));
        const double slope = gradient * was("") + pull * over * (1 - over);
        const double m = 0.9 * was("/score_m") + 0.1 * slope,
                     v = 0.999 * was("/score_v") + 0.001 * slope * slope;
        const double m_hat = m / (1 - std::pow(0.9, kSteps)),
                     v_hat = v / (1 - std::pow(0.999, kSteps));
        const double score = was("/score") - kSoft.rate * m_hat / (std::sqrt(v_hat) + 1e-8);
        EXPECT_NEAR(is("/score"), score, 2e-3 * (1 + std::abs(score))) << name << i;
      }
    }
    const float least = least_score(schedule, schedule.end);
    EXPECT_NEAR(1 / (1 + std::exp(-least)), kSoftThreshold, 1e-6);
    prune(client, step, std::bit_cast<std::int32_t>(least), state, {.by = PruneBy::soft});
    std::size_t dropped = 0, stay = 0;
    for (const auto& [name, values] : values_of(state)) {
      if (!is_matrix(name)) continue;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool stays = after.at(name + "/score")[i] >= least;
        EXPECT_EQ(values[i], stays ? after.at(name)[i] : 0) << name << i;
        (stays ? stay : dropped) += 1;
      }
    }
    EXPECT_GT(dropped, 100);
    EXPECT_GT(stay, 100);
    // A minimum number of weights is kept even if no score reaches the threshold.
    prune(client, step, std::bit_cast<std::int32_t>(1e9F), state, {.by = PruneBy::soft});
    std::uint64_t some = 0;
    for (const auto& [name, values] : values_of(state))
      if (is_matrix(name))
        some += values.size() - static_cast<std::size_t>(std::ranges::count(values, 0.0F));
    EXPECT_EQ(some, kept_of(prunable_weights(step.state), 1 - kSoftKeeps));
  }
}

TEST_F(PruneProgram, PatternKeepsTheLargestOfEachGroupWithScanReplicasAndMeshes) {
  SMELT_OPEN_CPU(client, 2);
  const Pruning pruning = prune_in_pattern({.kept = 1, .of = 4});
  EXPECT_TRUE(is_pruned_at(pruning.schedule, 0));
  EXPECT_FALSE(is_pruned_at(pruning.schedule, 1));
  EXPECT_EQ(last_pruning(pruning.schedule, 7), 0);
  const StepProgram plain = training();
  const StateValues before = values_of(fresh(client, plain));
  for (const Form& form : forms()) {
    const StepProgram step = training(form);
    execution::ModelState state = fresh(client, step);
    for (int times = 0; times < 2; ++times) prune(client, step, 0, state, pruning);
    const StateValues after = values_of(state);
    for (std::size_t i = 0; i < plain.state.values; ++i) {
      const auto& [name, shape] =
          std::pair(plain.state.tensors[i].name, plain.state.tensors[i].shape);
      std::vector<float> want = before.at(name);
      if (is_matrix(name)) {
        const auto in = static_cast<std::size_t>(shape.dims[0]),
                   out = static_cast<std::size_t>(shape.dims[1]);
        for (std::size_t o = 0; o < out; ++o)
          for (std::size_t first = 0; first < in; first += 4) {
            std::size_t most = first;
            for (std::size_t at = first; at < first + 4; ++at)
              if (std::abs(want[at * out + o]) > std::abs(want[most * out + o])) most = at;
            for (std::size_t at = first; at < first + 4; ++at)
              if (at != most) want[at * out + o] = 0;
          }
      }
      EXPECT_EQ(after.at(name), want) << name;
    }
  }
  EXPECT_THAT(
      error_of<UsageError>([&] { prune_program(plain, prune_in_pattern({2, 5})); }),
      HasSubstr("train.pruning.nm 2:5: 'bert/encoder/layer_0/attention/self/query/kernel' is "
                "f32[16,16], whose 16 inputs are not a multiple of 5"));
}

TEST_F(PruneProgram, TrainingKeepsPrunedZeros) {
  SMELT_OPEN_CPU(client, 1);
  const StepProgram step = training();
  execution::ModelState state = fresh(client, step);
  prune(client, step, static_cast<std::int32_t>(kept_of(prunable_weights(step.state), 0.7)), state);
  const StateValues before = values_of(state);
  const execution::CompiledStep compiled(client, step);
  for (int i = 0; i < 3; ++i) {
    pjrt::Execution execution = compiled.run(golden_.batch(), state, i);
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

TEST(PruningSchedule, EndsAfterFourFifthsOfAllSteps) {
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
}  // namespace smelt::model
