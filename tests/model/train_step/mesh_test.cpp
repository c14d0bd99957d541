// Results do not depend on how a step is distributed over devices, or on the number of
// micro-batches.
#include <gtest/gtest.h>

#include <cmath>

#include "runs/mesh_bert.h"
#include "runs/state_values.h"
#include "support/plugins.h"

namespace smelt::model {
namespace {

constexpr double kSameLoss = 1e-5;   // relative; sums are in another order on several devices
constexpr double kSameParts = 1e-6;  // relative, for micro-batches

// Trains a model with one layer, or with a scan of two.
MeshRan run(const std::shared_ptr<const pjrt::Client>& client, const TrainingConfig& config,
            const ShardingPlan& placement) {
  BertTask bert = mesh_bert();
  if (config.compute.layers == Layers::unrolled) bert.model.num_hidden_layers = 1;
  return run_mesh_steps(client, bert, config, placement);
}

MeshRan run_on_one(const std::shared_ptr<const pjrt::Client>& client,
                   const TrainingConfig& config) {
  const MeshRan one = run(client, config, placement_for("cpu", 1, Reduction::global));
  EXPECT_LT(one.losses.back(), one.losses.front() - 0.1);  // the loss decreases
  return one;
}

ShardingPlan cpu_placement(const std::string& mesh, Reduction reduction = Reduction::global) {
  return placement_for("cpu", 8, reduction, partition_for({.mesh = mesh}, 8));
}

TrainingConfig as_on_a_tpu(std::int64_t devices) {
  TrainingConfig c = mesh_config(devices);
  c.compute = compute_for("tpu", {.precision = Precision::f32_exact});
  return c;
}

void expect_losses(const MeshRan& got, const MeshRan& want, double limit) {
  for (std::size_t i = 0; i < kMeshSteps; ++i)
    EXPECT_NEAR(got.losses[i], want.losses[i], limit * want.losses[i]) << "step " << i;
}

constexpr const char* kAllAxes = "data=2,fsdp=2,tensor=2";

// Each axis alone, and all axes together with slots split over data.
std::vector<ShardingPlan> placements() {
  return {mesh_placement("data=8"), cpu_placement("fsdp=8"), cpu_placement("tensor=8"),
          mesh_placement(kAllAxes, true)};
}

std::string text_of(const ShardingPlan& placement) {
  std::string out = placement.spread == Parallelism::replicas ? "replicas" : "mesh";
  for (const auto& [axis, size] : placement.partition.mesh) out += str(" ", axis, "=", size);
  return out;
}

TEST(Mesh, CpuUsesReplicasForDataAndAMeshForParameters) {
  EXPECT_EQ(text_of(cpu_placement("data=8")), "replicas");
  EXPECT_EQ(text_of(mesh_placement("data=8")), "mesh data=8");
  EXPECT_EQ(text_of(cpu_placement("fsdp=8")), "mesh fsdp=8");
  EXPECT_EQ(text_of(cpu_placement("tensor=8")), "mesh tensor=8");
  EXPECT_EQ(text_of(cpu_placement("data=2,fsdp=4")), "mesh data=2 fsdp=4");
  EXPECT_EQ(text_of(cpu_placement(kAllAxes)), "mesh data=2 fsdp=2 tensor=2");
}

TEST(Mesh, LossesMatchOneDevice) {
  SMELT_OPEN_CPU(client, 8);
  const MeshRan one = run_on_one(client, mesh_config(1));
  expect_losses(run(client, mesh_config(8), cpu_placement(kAllAxes)), one, kSameLoss);
}

TEST(Mesh, LossesMatchOneDeviceWithTpuSettings) {
  SMELT_OPEN_CPU(client, 8);
  const MeshRan one = run_on_one(client, as_on_a_tpu(1));
  for (const ShardingPlan& placement : placements()) {
    SCOPED_TRACE(text_of(placement));
    expect_losses(run(client, as_on_a_tpu(8), placement), one, kSameLoss);
  }
}

// ---- micro-batches ----

void expect_parts_learn_the_same(const std::shared_ptr<const pjrt::Client>& client,
                                 TrainingConfig config, const ShardingPlan& placement,
                                 std::int64_t parts) {
  SCOPED_TRACE(str(text_of(placement), " ", parts));
  const MeshRan whole = run(client, config, placement);
  config.micro_batches = parts;
  const MeshRan got = run(client, config, placement);
  expect_losses(got, whole, kSameParts);
  expect_same_state(got.first, whole.first, kSameParts);
}

// Opens eight devices to share compiled programs of whole batches with the tests above.
TEST(MicroBatches, MatchTheWholeBatch) {
  SMELT_OPEN_CPU(client, 8);
  const ShardingPlan one = placement_for("cpu", 1, Reduction::global);
  expect_parts_learn_the_same(client, mesh_config(1), one, 4);
  expect_parts_learn_the_same(client, as_on_a_tpu(1), one, 2);
}

TEST(MicroBatches, MatchTheWholeBatchOnReplicas) {
  SMELT_OPEN_CPU(client, 8);
  expect_parts_learn_the_same(client, mesh_config(8), cpu_placement("data=8"), 4);
  TrainingConfig config = mesh_config(8);
  config.reduction = Reduction::per_replica;
  expect_parts_learn_the_same(client, config, cpu_placement("auto", Reduction::per_replica), 2);
}

TEST(MicroBatches, MatchTheWholeBatchOverAMesh) {
  SMELT_OPEN_CPU(client, 8);
  expect_parts_learn_the_same(client, as_on_a_tpu(8), mesh_placement(kAllAxes, true), 4);
  expect_parts_learn_the_same(client, as_on_a_tpu(8), mesh_placement("data=8"), 2);
  expect_parts_learn_the_same(client, mesh_config(8), mesh_placement("data=4,fsdp=2"), 2);
}

}  // namespace
}  // namespace smelt::model
