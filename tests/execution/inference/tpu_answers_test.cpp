// Compiles the generation program of a T5 for TPUs, on a machine without one: with data
// parallelism, and on a mesh that shards the model.
#include <gtest/gtest.h>

#include <algorithm>

#include "execution/inference/answering_placement.h"
#include "execution/train_state/placement_options.h"
#include "model/tasks/t5_answers.h"
#include "model/train_step/program.h"
#include "pjrt/topology.h"
#include "runs/collectives.h"
#include "support/plugins.h"

namespace smelt::execution {
namespace {

constexpr std::int64_t kRows = 16, kTokens = 32, kBeams = 4;

struct CompiledAnswers {
  std::int64_t state_bytes = 0;
  pjrt::CompiledMemory memory;
  std::vector<Collective> collectives;
};

CompiledAnswers compile(const char* chips, const model::Search& search, const std::string& mesh) {
  model::T5Config c;
  c.vocab_size = 1024;
  c.d_model = c.d_ff = 256;
  c.num_layers = 1;
  c.num_heads = 4;
  const model::StepProgram program = model::predict_program(
      model::t5_answers(c, 64, search, c.vocab_size), kRows, {},
      answering_placement("tpu", 8, {.mesh = mesh},
                          [c](std::string_view name) { return model::t5_dim_names(c, name); }));
  const pjrt::CompiledProgram compiled = pjrt::Topology::tpu(chips).compile(
      compiler::emit_module(program.program, "answers"), compile_options(program.placement));
  CompiledAnswers out{.memory = compiled.memory(), .collectives = collectives_of(compiled)};
  for (const model::StateTensor& t : program.state.tensors)
    out.state_bytes += static_cast<std::int64_t>(t.shape.size_bytes());
  return out;
}

class TpuAnswers : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { REQUIRE_PLUGIN("tpu"); }
};

TEST_P(TpuAnswers, BeamSearchOverDataDoesNotExchangeTheKvCache) {
  const CompiledAnswers c =
      compile(GetParam(), {.most_tokens = kTokens, .beams = kBeams, .answers = 2}, "auto");
  EXPECT_GE(c.memory.argument_bytes, c.state_bytes);
  // The size of one layer's KV cache on a device. Devices exchange only whether all beams have
  // ended.
  constexpr std::int64_t kKeysOfDevice = kRows / 8 * kBeams * 4 * 64 * kTokens;
  for (const Collective& one : c.collectives)
    EXPECT_LT((compiler::Shape{compiler::DType::f32, one.dims}.elements()), kKeysOfDevice / 16)
        << one;
}

TEST_P(TpuAnswers, SamplingWithAShardedModelNeedsAShareOfItsMemory) {
  const CompiledAnswers c = compile(
      GetParam(), {.most_tokens = kTokens, .sample = true, .top_k = 20, .top_p = 0.9, .answers = 2},
      "data=2,fsdp=2,tensor=2");
  EXPECT_LT(c.memory.argument_bytes, c.state_bytes / 2);
}

INSTANTIATE_TEST_SUITE_P(Topologies, TpuAnswers, testing::Values("v3:2x2", "v5e:2x4"),
                         [](const auto& info) {
                           const std::string topology = info.param;
                           return "V" + topology.substr(1, topology.find(':') - 1);
                         });

}  // namespace
}  // namespace smelt::execution
