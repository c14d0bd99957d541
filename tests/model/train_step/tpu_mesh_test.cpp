// Memory savings and communication of meshes, as compiled by the TPU compiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "execution/train_state/placement_options.h"
#include "execution/train_state/shards.h"
#include "pjrt/topology.h"
#include "runs/collectives.h"
#include "runs/mesh_bert.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::Dims;
using compiler::DType;
using compiler::emit_module;
using compiler::Shape;
namespace {

using testing::AllOf;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

struct Compiled {
  StepProgram program;
  pjrt::CompiledMemory memory;
  std::vector<Collective> collectives;

  std::vector<Collective> all(std::string_view op) const {
    std::vector<Collective> out;
    std::ranges::copy_if(collectives, std::back_inserter(out),
                         [&](const Collective& c) { return c.op == op; });
    return out;
  }
};

// Widths whose shards fill the TPU's tiles of 8 x 128.
BertTask wide_bert() {
  BertTask bert = mesh_bert(0);
  bert.seq_length = 32;
  bert.model.vocab_size = 4096;
  bert.model.hidden_size = 1024;
  bert.model.intermediate_size = 2048;
  bert.model.max_position_embeddings = 128;
  return bert;
}

class TpuMesh : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_PLUGIN("tpu"); }

  // Scanned layers, f32.
  static StepProgram program(const std::string& mesh, bool split_slots,
                             std::int64_t micro_batches = 1) {
    TrainingConfig config = mesh_config(8);
    config.compute = compute_for("tpu", {});
    config.micro_batches = micro_batches;
    return train_program(bert_task(wide_bert()), config, mesh_placement(mesh, split_slots));
  }

  static Compiled compile(const std::string& chips, const std::string& mesh,
                          bool split_slots = false, std::int64_t micro_batches = 1) {
    StepProgram step = program(mesh, split_slots, micro_batches);
    const pjrt::CompiledProgram compiled = pjrt::Topology::tpu(chips).compile(
        emit_module(step.program, "step"), execution::compile_options(step.placement));
    return {std::move(step), compiled.memory(), collectives_of(compiled)};
  }

  // Returns the bytes per device of the state, a batch and the step number.
  static std::int64_t device_bytes(const StepProgram& step) {
    std::size_t bytes = 0;
    for (const StateTensor& t : step.state.tensors)
      bytes += execution::part_shape(step.program.mesh, t.sharding, t.shape).size_bytes();
    std::size_t batch = 0;
    for (const data::HostArray& array : data::empty_batch(step.features, 32).arrays)
      batch += array.bytes.size();
    bytes += batch / static_cast<std::size_t>(step.placement.row_shards());
    return static_cast<std::int64_t>(bytes + sizeof(std::int32_t));
  }

  // Small vectors and the batch are padded to tiles: at most 512 bytes per argument.
  static void expect_memory(const Compiled& c, double share_of_whole) {
    const std::int64_t want = device_bytes(c.program);
    const auto arguments = std::ssize(c.program.program.graph.arguments());
    EXPECT_GE(c.memory.argument_bytes, want);
    EXPECT_LE(c.memory.argument_bytes, want + 512 * arguments);
    expect_share(c.program, share_of_whole);
  }
  static void expect_share(const StepProgram& step, double share_of_whole) {
    std::size_t whole = 0;
    for (const StateTensor& t : step.state.tensors) whole += t.shape.size_bytes();
    EXPECT_NEAR(static_cast<double>(device_bytes(step)) / static_cast<double>(whole),
                share_of_whole, 0.002);
  }
};

// The case with most sharding is compiled for both kinds of TPU; the others for v2, for which
// libtpu is faster.
class TpuMeshOnEach : public TpuMesh, public testing::WithParamInterface<const char*> {};
constexpr const char *kChips = "v2:2x2", *kNewerChips = "v5e:2x4";

std::int64_t elements_of(const Collective& c) { return Shape{DType::f32, c.dims}.elements(); }

constexpr std::int64_t kMatrix = 128 * 1024;  // elements of the smallest matrix, that of positions

// Returns the collectives of at least the size of a matrix.
std::vector<Collective> large(std::vector<Collective> all) {
  std::erase_if(all, [](const Collective& c) { return elements_of(c) < kMatrix; });
  return all;
}

TEST_F(TpuMesh, DataAxisReducesGradientsAndGathersNothing) {
  const Compiled c = compile(kChips, "data=8");
  expect_memory(c, 1);
  EXPECT_THAT(c.all("all-gather"), IsEmpty());
  EXPECT_THAT(c.all("reduce-scatter"), IsEmpty());
  EXPECT_THAT(c.all("all-reduce"), AllOf(Contains(Collective{"all-reduce", {4096, 1024}, 0}),
                                         Contains(Collective{"all-reduce", {1, 1024, 2048}, 1}),
                                         Contains(Collective{"all-reduce", {1, 2048, 1024}, 1})));
}

// ZeRO-1: gradients are reduce-scattered, shards of the parameters updated, then all-gathered.
TEST_F(TpuMesh, SlotsSplitOverDataUseAnEighthOfTheMemory) {
  const Compiled c = compile(kChips, "data=8", true);
  expect_memory(c, (1 + 2.0 / 8) / 3);
  EXPECT_THAT(c.all("all-gather"), Contains(Collective{"all-gather", {2, 1024, 2048}, 0}));
}

// ZeRO-3: the parameters of a layer are gathered in its own iteration, never those of all layers,
// and as bf16 matmul operands.
TEST_P(TpuMeshOnEach, FsdpGathersTheParametersOfALayerForUse) {
  const Compiled c = compile(GetParam(), "fsdp=8");
  expect_memory(c, 1.0 / 8);
  const auto gathers = c.all("all-gather");
  for (const Dims& kernel : {Dims{1, 1024, 2048}, Dims{1, 2048, 1024}, Dims{1, 1024, 1024}})
    EXPECT_THAT(gathers, Contains(Collective{"all-gather", kernel, 1, "bf16"}));
  EXPECT_THAT(gathers, Contains(Collective{"all-gather", {4096, 1024}, 0}));
  for (const Collective& gather : gathers) EXPECT_LE(elements_of(gather), 4096 * 1024) << gather;
  for (const Collective& gather : gathers)
    EXPECT_FALSE(gather.dims.size() == 3 && gather.dims[0] == 2) << gather;
}

TEST_F(TpuMesh, DataAndFsdpStoreAQuarterAndGatherNoActivations) {
  const Compiled c = compile(kChips, "data=2,fsdp=4");
  expect_memory(c, 1.0 / 4);
  EXPECT_THAT(c.all("all-gather"), Contains(Collective{"all-gather", {1, 1024, 2048}, 1, "bf16"}));
  EXPECT_THAT(c.all("all-gather"), Not(Contains(Collective{"all-gather", {32, 32, 1024}, 0})));
  expect_share(program("data=2,fsdp=4", true), (1.0 / 4 + 2.0 / 8) / 3);
}

// Positions, the pooler and the head's transform are replicated.
TEST_F(TpuMesh, TensorAxisGathersNoWeights) {
  const Compiled c = compile(kChips, "tensor=8");
  constexpr double kSplit = 4096 * 1024 + 2 * 8 * 1024 * 1024, kWhole = (2 * 1024 + 128) * 1024;
  expect_memory(c, (kSplit / 8 + kWhole) / (kSplit + kWhole));
  EXPECT_THAT(large(c.all("all-gather")), IsEmpty());
  EXPECT_THAT(c.all("all-reduce"), Contains(Collective{"all-reduce", {32, 32, 1024}, 1}));
}

TEST_F(TpuMesh, MicroBatchGradientsAreReducedOnce) {
  const Compiled c = compile(kNewerChips, "data=8", false, 4);
  EXPECT_THAT(c.all("all-reduce"), AllOf(Contains(Collective{"all-reduce", {2, 1024, 2048}, 0}),
                                         Contains(Collective{"all-reduce", {4096, 1024}, 0})));
  for (const Collective& one : c.collectives) EXPECT_EQ(one.loops, 0) << one;
}

// The shard of a kernel's gradient is 1024 x 1024; other collectives in the loop belong to the
// tensor axis.
TEST_F(TpuMesh, MicroBatchGradientsAreReducedOnceWithOtherAxes) {
  const Compiled c = compile(kChips, "data=4,tensor=2", false, 4);
  EXPECT_THAT(c.all("all-reduce"), Contains(Collective{"all-reduce", {2, 1024, 1024}, 0}));
  for (const Collective& one : c.collectives)
    EXPECT_FALSE(one.loops > 0 && elements_of(one) >= 1024 * 1024) << one;
}

INSTANTIATE_TEST_SUITE_P(Topologies, TpuMeshOnEach, testing::Values(kChips, kNewerChips),
                         [](const auto& info) {
                           return std::string(info.param).substr(0, 2) == "v2" ? "V2" : "V5e";
                         });

}  // namespace
}  // namespace smelt::model
