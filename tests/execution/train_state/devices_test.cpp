// Training on several devices: the original's order of clipping and summing, and reproducible bits.
#include <gtest/gtest.h>

#include <cmath>

#include "execution/train_state/compiled_step.h"
#include "runs/golden_bert.h"
#include "runs/small_run.h"
#include "runs/state_values.h"

namespace smelt::execution {
namespace {

using Values = std::map<std::string, std::vector<float>>;

// Returns the first moments after one step on each batch, which are a tenth of the gradient that
// the optimizer received. Uses only the first layer of the golden model, which compiles faster.
std::vector<Values> first_moments(const std::shared_ptr<const pjrt::Client>& client,
                                  const GoldenBert& golden, const model::TrainingConfig& config,
                                  const std::vector<data::Batch>& batches) {
  model::BertTask bert = golden.task();
  bert.model.num_hidden_layers = 1;
  const model::StepProgram program = model::train_program(
      model::bert_task(bert), config,
      model::placement_for(client->platform_name(), config.devices, config.reduction));
  const CompiledStep step(client, program);
  std::vector<Values> moments;
  for (const data::Batch& batch : batches) {
    ModelState state =
        ModelState::restore(*client, program.placement, program.state, golden.state(), "golden");
    pjrt::Execution execution = step.run(batch, state, 0);
    state.replace(execution.results);
    auto& of_batch = moments.emplace_back();
    for (const auto& [name, values] : values_of(state))
      if (name.ends_with("/adam_m")) of_batch[name] = values;
  }
  return moments;
}

// As in the original, each replica clips its own gradient before the gradients are summed.
TEST(PerReplica, ReplicasClipTheirGradientsBeforeTheSum) {
  SMELT_OPEN_CPU(client, 8);
  const GoldenBert golden;
  model::TrainingConfig config = golden.config();
  config.batch_size = config.devices = 8;
  config.reduction = model::Reduction::per_replica;
  const data::Batch batch = golden.double_batch(0);
  const auto together = first_moments(client, golden, config, {batch})[0];

  config.batch_size = config.devices = 1;
  config.reduction = model::Reduction::global;
  std::vector<data::Batch> rows;
  for (std::int64_t row = 0; row < 8; ++row) rows.push_back(rows_of(batch, row, row + 1));
  std::map<std::string, std::vector<double>> sums;
  for (const Values& moments : first_moments(client, golden, config, rows))
    for (const auto& [name, m] : moments) {
      auto& sum = sums[name];
      sum.resize(m.size());
      for (std::size_t i = 0; i < m.size(); ++i) sum[i] += m[i];
    }
  for (const auto& [name, sum] : sums) {
    double size = 0;
    for (const double value : sum) size = std::max(size, std::abs(value));
    // The gradient of a key's bias is rounding noise.
    const double limit = 1e-5 * std::max(size, 1e-3);
    for (std::size_t i = 0; i < sum.size(); ++i)
      ASSERT_NEAR(together.at(name)[i], sum[i], limit) << name << " at " << i;
  }
}

// The number of devices determines the order of sums and so the rounding; with the same number it
// is always the same.
TEST(Devices, GlobalGradientMatchesOneDevice) {
  SMELT_OPEN_CPU(client, 8);
  const GoldenBert golden;
  model::TrainingConfig config = golden.config();
  config.batch_size = 8;
  const data::Batch batch = golden.double_batch(0);
  const auto one = first_moments(client, golden, config, {batch})[0];
  config.devices = 8;
  const auto eight = first_moments(client, golden, config, {batch})[0];
  for (const auto& [name, want] : one) {
    double size = 0;
    for (const float value : want) size = std::max<double>(size, std::abs(value));
    const double limit = 1e-5 * std::max(size, 1e-3);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(eight.at(name)[i], want[i], limit) << name << " at " << i;
  }
}

using DevicesRun = SmallRun;

TEST_F(DevicesRun, RunsOnEightDevicesAreBitIdenticalEvenIfResumed) {
  SMELT_OPEN_CPU(client, 8);
  const auto on_eight = [&](const std::string& model) {
    train::TrainJob eight = job(model, 40);
    eight.on.devices = 8;
    eight.checkpoint.save_interval_steps = 20;
    return eight;
  };
  train::train(on_eight("first"));
  const auto want = state("first", 40);
  train::train(on_eight("second"));
  EXPECT_EQ(state("second", 40), want);
  cut_back(dir_.file("first"), dir_.file("resumed"), 20);
  EXPECT_EQ(train::train(on_eight("resumed")).first_step, 20);
  EXPECT_EQ(state("resumed", 40), want);
}

// Trains with the layers and batch of the demo on more devices than cores, with several steps in
// flight.
TEST_F(DevicesRun, EightDevicesLearnWithTheDemoModel) {
  SMELT_OPEN_CPU(client, 8);
  model::BertTask demo = bert();
  demo.model.hidden_size = 128;
  demo.model.num_hidden_layers = 2;
  demo.model.intermediate_size = 512;
  demo.model.vocab_size = 1000;
  train::TrainJob eight = job("demo", 16);
  eight.task = model::bert_task(demo);
  eight.on.devices = 8;
  eight.config.batch_size = 32;
  eight.checkpoint.save_interval_steps = 16;
  const train::TrainSummary s = train::train(eight);
  EXPECT_EQ(s.last_step, 16);
  EXPECT_LT(s.last.at("loss"), 7.2);  // starts at 7.6
}

}  // namespace
}  // namespace smelt::execution
