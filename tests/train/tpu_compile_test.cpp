// The programs of pre-training compile for TPUs, on a machine without any.
#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/topology.h"
#include "support/plugins.h"
#include "train/pretraining.h"

namespace smelt {
namespace {

class TpuCompile : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { REQUIRE_PLUGIN("tpu"); }

  static PretrainingConfig config() {
    PretrainingConfig c;
    c.model.vocab_size = 1000;
    c.model.hidden_size = 128;
    c.model.num_hidden_layers = 2;
    c.model.num_attention_heads = 2;
    c.model.intermediate_size = 512;
    c.batch = {.batch_size = 16, .seq_length = 128, .max_predictions = 20};
    c.devices = 8;
    return c;
  }

  static CompiledMemory compile(const PretrainingProgram& program, bool replicas) {
    const Topology topology = Topology::tpu(GetParam());
    EXPECT_EQ(topology.device_count(), 8);
    return topology
        .compile(emit_module(program.program, "pretraining"), {.num_replicas = replicas ? 8 : 1,
                                                               .num_partitions = replicas ? 1 : 8,
                                                               .use_shardy = true,
                                                               .overrides = {}})
        .memory();
  }

  // Values and both moments, f32.
  static std::int64_t state_bytes(const PretrainingProgram& program) {
    std::int64_t bytes = 0;
    for (const Parameter& p : program.parameters.all())
      bytes += 3 * static_cast<std::int64_t>(p.tensor.shape().size_bytes());
    return bytes;
  }
};

TEST_P(TpuCompile, TheTrainingStepOverAMeshReusesTheMemoryOfItsState) {
  PretrainingProgram program;
  build_train_step(config(), program);
  const CompiledMemory memory = compile(program, false);
  EXPECT_GE(memory.alias_bytes, state_bytes(program));
  EXPECT_GE(memory.argument_bytes, memory.alias_bytes);
}

TEST_P(TpuCompile, TheTrainingStepPerReplicaReusesTheMemoryOfItsState) {
  PretrainingConfig c = config();
  c.reduction = Reduction::per_replica;
  PretrainingProgram program;
  build_train_step(c, program);
  EXPECT_GE(compile(program, true).alias_bytes, state_bytes(program));
}

TEST_P(TpuCompile, TheEvaluationStepCompiles) {
  PretrainingProgram program;
  build_eval_step(config(), program);
  EXPECT_GE(compile(program, false).argument_bytes, state_bytes(program) / 3);
}

INSTANTIATE_TEST_SUITE_P(Topologies, TpuCompile, testing::Values("v2:2x2", "v5e:2x4"),
                         [](const auto& info) {
                           return std::string(info.param).substr(0, 2) == "v2" ? "V2" : "V5e";
                         });

}  // namespace
}  // namespace smelt
