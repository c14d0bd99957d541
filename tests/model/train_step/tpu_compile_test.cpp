// Compiles the pretraining programs for TPUs, on a machine without TPUs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "execution/train_state/placement_options.h"
#include "model/optim/adafactor.h"
#include "model/optim/lamb.h"
#include "model/optim/stable_adamw.h"
#include "model/tasks/bert_task.h"
#include "model/tasks/classify_task.h"
#include "model/tasks/deberta_rtd_task.h"
#include "model/tasks/electra_task.h"
#include "model/tasks/embedding_task.h"
#include "model/tasks/fake_quant.h"
#include "model/tasks/jestimator_bert_task.h"
#include "model/tasks/masked_lm_task.h"
#include "model/tasks/t5_task.h"
#include "model/train_step/program.h"
#include "model/train_step/prune_program.h"
#include "pjrt/topology.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::DType;
using compiler::emit_module;
using compiler::RematPolicy;
namespace {

class TpuCompile : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_PLUGIN("tpu"); }

  static Task task(std::int64_t seq_length = 128, std::int64_t layers = 2) {
    BertTask bert{.seq_length = seq_length, .max_predictions = 20};
    bert.model.vocab_size = 1000;
    bert.model.hidden_size = 128;
    bert.model.num_hidden_layers = layers;
    bert.model.num_attention_heads = 2;
    bert.model.intermediate_size = 512;
    return bert_task(bert);
  }

  // For tests that do not compare sizes: libtpu compiles faster with few tokens.
  static constexpr std::int64_t kFewTokens = 32;
  static Task short_task() { return task(kFewTokens); }

  static TrainingConfig config(Reduction reduction) {
    TrainingConfig c;
    c.batch_size = 16;
    c.devices = 8;
    c.optimizer = adamw({});
    c.reduction = reduction;
    c.compute = compute_for("tpu", {});
    return c;
  }

  static ShardingPlan placement(Reduction reduction) { return placement_for("tpu", 8, reduction); }

  static pjrt::CompiledMemory compile(const char* chips, const StepProgram& program) {
    const pjrt::Topology topology = pjrt::Topology::tpu(chips);
    EXPECT_EQ(topology.device_count(), program.placement.devices);
    return topology
        .compile(emit_module(program.program, "step"),
                 execution::compile_options(program.placement))
        .memory();
  }

  static std::int64_t state_bytes(const StepProgram& program) {
    std::int64_t bytes = 0;
    for (const StateTensor& t : program.state.tensors)
      bytes += static_cast<std::int64_t>(t.shape.size_bytes());
    return bytes;
  }
};

class TpuCompileOnEach : public TpuCompile, public testing::WithParamInterface<const char*> {};

TEST_P(TpuCompileOnEach, TrainingStepOverAMeshReusesStateMemory) {
  const auto program =
      train_program(short_task(), config(Reduction::global), placement(Reduction::global));
  EXPECT_EQ(program.placement.spread, Parallelism::mesh);
  const pjrt::CompiledMemory memory = compile(GetParam(), program);
  EXPECT_GE(memory.alias_bytes, state_bytes(program));
  EXPECT_GE(memory.argument_bytes, memory.alias_bytes);
}

TEST_P(TpuCompileOnEach, TrainingStepPerReplicaReusesStateMemory) {
  const auto program = train_program(short_task(), config(Reduction::per_replica),
                                     placement(Reduction::per_replica));
  EXPECT_EQ(program.placement.spread, Parallelism::replicas);
  EXPECT_GE(compile(GetParam(), program).alias_bytes, state_bytes(program));
}

TEST_P(TpuCompileOnEach, EvaluationStepCompiles) {
  const auto program =
      eval_program(short_task(), 16, placement(Reduction::global), compute_for("tpu", {}));
  EXPECT_GE(compile(GetParam(), program).argument_bytes, state_bytes(program));
}

TEST_P(TpuCompileOnEach, ClassifierCompiles) {
  const Task bert = task(kFewTokens, 1);
  ClassifyTask c{.encoder = parse_encoder("bert", bert.settings["model"], "test"),
                 .seq_length = kFewTokens,
                 .labels = {.problem = io::Problem::single_label, .names = {"a", "b", "c"}},
                 .class_weights = {},
                 .label_smoothing = 0.1};
  TrainingConfig of = config(Reduction::global);
  of.compute.dtype = DType::bf16;
  for (const io::Problem problem :
       {io::Problem::answer_spans, io::Problem::single_label, io::Problem::token_labels}) {
    c.labels.problem = problem;
    if (c.labels.has_classes()) c.class_weights = {1, 2, 3};
    const auto program = train_program(classify_task(c), of, placement(Reduction::global));
    EXPECT_GE(compile(GetParam(), program).alias_bytes, state_bytes(program));
  }
  of.compute.layers = Layers::scan;
  const auto as_codes =
      train_program(fake_quantized(classify_task(c)), of, placement(Reduction::global));
  EXPECT_GE(compile(GetParam(), as_codes).alias_bytes, state_bytes(as_codes));
  for (const Pruning& pruning : {Pruning{}, prune_in_pattern({2, 4})})
    EXPECT_GE(compile(GetParam(), prune_program(as_codes, pruning)).alias_bytes,
              state_bytes(as_codes));
  const auto scoring = eval_program(classify_task(c), 16, placement(Reduction::global), of.compute);
  EXPECT_GE(compile(GetParam(), scoring).argument_bytes, state_bytes(scoring));
}

// The step gathers the candidates of all devices, and rematerializes each micro-batch in the
// backward pass.
TEST_P(TpuCompileOnEach, EmbeddingStepWithMicroBatchesReusesStateMemory) {
  const Task bert = task(kFewTokens, 2);
  const EmbeddingTask c{.encoder = parse_encoder("bert", bert.settings["model"], "test"),
                        .form = {.seq_length = kFewTokens},
                        .texts = 3};
  TrainingConfig of = config(Reduction::global);
  of.compute.dtype = DType::bf16;
  for (const std::int64_t micro_batches : {1, 2}) {
    of.micro_batches = micro_batches;
    const auto program = train_program(embedding_task(c), of, placement(Reduction::global));
    EXPECT_GE(compile(GetParam(), program).alias_bytes, state_bytes(program));
  }
}

// As compiled by each of the four hosts of a v2-32: over all devices, with parameters split over a
// host and its neighbour, and with consensus flags.
TEST_F(TpuCompile, TrainingStepOfFourHostsReusesStateMemory) {
  TrainingConfig c = config(Reduction::global);
  c.batch_size = c.devices = 32;
  c.takes_wishes = true;
  const auto program = train_program(
      task(), c,
      placement_for("tpu", 32, Reduction::global, partition_for({.mesh = "data=2,fsdp=16"}, 32)));
  const pjrt::CompiledMemory memory = compile("v2:4x4", program);
  EXPECT_GE(memory.alias_bytes, state_bytes(program) / 16);
  EXPECT_LT(memory.argument_bytes, state_bytes(program) / 8);
}

TEST_F(TpuCompile, LambStepWithAveragesSpikesAndRulesReusesStateMemory) {
  TrainingConfig c = config(Reduction::global);
  c.optimizer = lamb({});
  c.schedule = {.total_steps = 100, .warmup = Warmup::precedes, .decay = Decay::cosine};
  c.rules = {{"rates", {{".*/layer_0/", "0.5"}}}, {}};
  c.clip_value = 1;
  c.ema_decay = 0.99;
  c.spikes = {.action = SpikeAction::skip};
  const auto program = train_program(short_task(), c, placement(Reduction::global));
  EXPECT_GE(compile("v2:2x2", program).alias_bytes, state_bytes(program));
}

// The fewer values a scan stores, the less memory a step uses.
TEST_F(TpuCompile, ScannedTrainingStepUsesLessMemoryIfItStoresLess) {
  const auto temporaries = [&](Precision precision, RematPolicy save) {
    TrainingConfig c = config(Reduction::global);
    c.compute = compute_for("tpu", {.precision = precision, .layers = Layers::scan, .save = save});
    const auto program = train_program(task(64), c, placement(Reduction::global));
    const pjrt::CompiledMemory memory = compile("v2:2x2", program);
    EXPECT_GE(memory.alias_bytes, state_bytes(program)) << name(precision);
    return memory.temporary_bytes;
  };
  const auto all = temporaries(Precision::f32, RematPolicy::all),
             products = temporaries(Precision::f32, RematPolicy::products);
  EXPECT_LE(products, all);
  EXPECT_LT(temporaries(Precision::f32, RematPolicy::layer), all);
  EXPECT_LT(temporaries(Precision::bf16, RematPolicy::products), products);
}

// Bytes of a layer's attention exponentials: two rows per device, two heads, 16 bits each.
constexpr std::int64_t kLongTexts = 512;
constexpr double kExponentials = 2 * 2 * kLongTexts * kLongTexts * 2;

TEST_F(TpuCompile, UnrolledLayersDoNotStoreRecomputedScores) {
  const auto temporaries = [](bool stored_scores) -> double {
    TrainingConfig c = config(Reduction::global);
    c.compute = compute_for("tpu", {.layers = Layers::unrolled});
    EXPECT_FALSE(c.compute.stored_scores);
    c.compute.stored_scores = stored_scores;
    const auto program = train_program(task(kLongTexts, 2), c, placement(Reduction::global));
    return static_cast<double>(compile("v2:2x2", program).temporary_bytes);
  };
  EXPECT_LT(temporaries(false), temporaries(true) - kExponentials);
}

TEST_P(TpuCompileOnEach, BlockwiseAttentionUsesLessMemoryForLongSequences) {
  const auto temporaries = [](std::int64_t attention_rows) -> double {
    TrainingConfig c = config(Reduction::global);
    c.compute = compute_for("tpu", {.save = RematPolicy::layer, .attention_rows = attention_rows});
    const auto program = train_program(task(kLongTexts, 1), c, placement(Reduction::global));
    return static_cast<double>(compile(GetParam(), program).temporary_bytes);
  };
  const double blocks = temporaries(64);
  // A v5e can hold such small scores in on-chip memory, so there it only has to compile.
  if (std::string(GetParam()) != "v2:2x2") return;
  EXPECT_LT(blocks, temporaries(0) - kExponentials);
}

const auto topology_name = [](const auto& info) {
  const std::string topology = info.param;
  return "V" + topology.substr(1, topology.find(':') - 1);
};
INSTANTIATE_TEST_SUITE_P(Topologies, TpuCompileOnEach, testing::Values("v2:2x2", "v5e:2x4"),
                         topology_name);

class ElectraTpuCompile : public TpuCompileOnEach {
 protected:
  static Task electra(MaskDraws masks) {
    ElectraTask c{.model = {.vocab_size = 1000,
                            .embedding_size = 64,
                            .hidden_size = 128,
                            .num_hidden_layers = 2,
                            .generator_hidden_size = 0.5},
                  .seq_length = kFewTokens};
    c.settings.masks = masks;
    return electra_task(c);
  }
};

TEST_P(ElectraTpuCompile, TrainingStepReusesStateMemory) {
  TrainingConfig c = config(Reduction::global);
  const auto program = train_program(electra(MaskDraws::distinct), c, placement(Reduction::global));
  EXPECT_EQ(program.placement.spread, Parallelism::mesh);
  EXPECT_GE(compile(GetParam(), program).alias_bytes, state_bytes(program));
}

TEST_P(ElectraTpuCompile, EvaluationStepCompiles) {
  for (const MaskDraws masks : {MaskDraws::distinct, MaskDraws::original}) {
    const auto program =
        eval_program(electra(masks), 16, placement(Reduction::global), compute_for("tpu", {}));
    EXPECT_GE(compile(GetParam(), program).argument_bytes, state_bytes(program));
  }
}

TEST_F(TpuCompile, ElectraWithTwoTowersIsShardedOverHeadsAndVocabulary) {
  ElectraTask two{.model = {.vocab_size = 1000,
                            .embedding_size = 64,
                            .hidden_size = 256,
                            .num_hidden_layers = 1,
                            .num_attention_heads = 4,
                            .generator_hidden_size = 1},
                  .seq_length = kFewTokens};
  two.settings.two_tower_generator = true;
  TrainingConfig c = config(Reduction::global);
  const auto program = train_program(
      electra_task(two), c,
      placement_for("tpu", 8, Reduction::global, partition_for({.mesh = "data=2,tensor=4"}, 8)));
  const pjrt::CompiledMemory memory = compile("v5e:2x4", program);
  EXPECT_GE(memory.alias_bytes, state_bytes(program) / 4);
  EXPECT_LT(memory.argument_bytes, state_bytes(program));
}

INSTANTIATE_TEST_SUITE_P(Topologies, ElectraTpuCompile,
                         testing::Values("v2:2x2", "v3:2x2", "v5e:2x4"), topology_name);

// ---- JEstimator's BERT, which scores all words for every token ----

class JestimatorTpuCompile : public TpuCompileOnEach {
 protected:
  static Task jestimator(const char* variant, std::int64_t S = 128, std::int64_t V = 8000) {
    JestimatorBertTask c;
    c.model = {.variant = variant,
               .max_length = S,
               .hidden_size = 128,
               .num_heads = 2,
               .num_layers = 2,
               .mlp_size = 512,
               .vocab_size = V,
               .relative_attention_max_distance = 32};
    c.settings.mask_token_id = 4;
    return jestimator_bert_task(c);
  }
  static pjrt::CompiledMemory training(const Task& task, std::int64_t logits_mb) {
    TrainingConfig c = config(Reduction::global);
    c.compute = compute_for("tpu", {.logits_mb = logits_mb});
    const auto program = train_program(task, c, placement(Reduction::global));
    const pjrt::CompiledMemory memory = compile(GetParam(), program);
    EXPECT_GE(memory.alias_bytes, state_bytes(program));
    return memory;
  }
};

TEST_P(JestimatorTpuCompile, TrainingStepOfEachVariantReusesStateMemory) {
  for (const char* variant : {"rope", "bert_rpe"}) training(jestimator(variant, 64, 1000), 64);
}

// The logits of 512 tokens and 16,000 words take 31 MB per device, in eight blocks.
TEST_P(JestimatorTpuCompile, VocabularyBlocksUseLessMemory) {
  const Task task = jestimator("bert", 256, 16000);
  const auto blocks = training(task, 4);
  if (std::string(GetParam()) != "v2:2x2") return;  // one comparison is enough
  const auto all = training(task, 0);
  EXPECT_LT(blocks.temporary_bytes, 0.8 * static_cast<double>(all.temporary_bytes));
}

TEST_P(JestimatorTpuCompile, EvaluationWithTwentyPassesCompiles) {
  const auto program = eval_program(jestimator("bert"), 16, placement(Reduction::global),
                                    compute_for("tpu", {.logits_mb = 1}), 20);
  EXPECT_GE(compile(GetParam(), program).argument_bytes, state_bytes(program));
}

INSTANTIATE_TEST_SUITE_P(Topologies, JestimatorTpuCompile, testing::Values("v2:2x2", "v5e:2x4"),
                         topology_name);

// ---- ModernBERT, whose layers select global or local attention ----

class ModernbertTpuCompile : public TpuCompileOnEach {};

TEST_P(ModernbertTpuCompile, TrainingStepReusesStateMemory) {
  const Encoder encoder = parse_encoder("modernbert",
                                        {{"vocab_size", 1000},
                                         {"hidden_size", 128},
                                         {"num_hidden_layers", 4},
                                         {"num_attention_heads", 2},
                                         {"intermediate_size", 192},
                                         {"local_attention", 8}},
                                        "test");
  const Task task =
      masked_lm_task({.encoder = encoder, .seq_length = kFewTokens, .mask_prob = 0.3});
  TrainingConfig c = config(Reduction::global);
  c.compute.dtype = DType::bf16;
  c.optimizer = stable_adamw({.beta2 = 0.98});
  // One form on each chip: libtpu takes several seconds to compile each.
  c.compute.layers =
      std::string_view(GetParam()).starts_with("v3") ? Layers::scan : Layers::unrolled;
  const auto program = train_program(task, c, placement(Reduction::global));
  EXPECT_GE(compile(GetParam(), program).alias_bytes, state_bytes(program));
}

INSTANTIATE_TEST_SUITE_P(Topologies, ModernbertTpuCompile, testing::Values("v3:2x2", "v5e:2x4"),
                         topology_name);

// ---- DeBERTa's replaced-token detection: two stacks with disentangled attention ----

class DebertaTpuCompile : public TpuCompileOnEach {};

TEST_P(DebertaTpuCompile, TrainingStepReusesStateMemory) {
  DebertaRtdTask settings{.seq_length = kFewTokens};
  settings.model.vocab_size = 1000;
  settings.model.hidden_size = 128;
  settings.model.num_hidden_layers = 2;
  settings.model.num_attention_heads = 2;
  settings.model.intermediate_size = 192;
  TrainingConfig c = config(Reduction::global);
  c.compute.dtype = DType::bf16;
  // One form on each chip: libtpu takes several seconds to compile each.
  c.compute.layers =
      std::string_view(GetParam()).starts_with("v2") ? Layers::scan : Layers::unrolled;
  const auto program = train_program(deberta_rtd_task(settings), c, placement(Reduction::global));
  EXPECT_GE(compile(GetParam(), program).alias_bytes, state_bytes(program));
}

INSTANTIATE_TEST_SUITE_P(Topologies, DebertaTpuCompile, testing::Values("v2:2x2", "v5e:2x4"),
                         topology_name);

// ---- T5: two scanned stacks, one of which reads the output of the other ----

Task t5(bool gated) {
  T5Task c{.inputs_length = 32, .targets_length = 16};
  c.model.vocab_size = 1024;
  c.model.d_model = c.model.d_ff = 256;
  c.model.num_layers = 2;
  c.model.num_heads = 4;
  if (gated) c.model.feed_forward_proj = "gated-gelu";
  c.model.tie_word_embeddings = !gated;
  return t5_task(c);
}

class T5TpuCompile : public TpuCompileOnEach {};

// Each kind in the precision it was trained with.
TEST_P(T5TpuCompile, TrainingStepReusesStateMemory) {
  const bool gated = std::string(GetParam()) != "v3:2x2";
  TrainingConfig c = config(Reduction::global);
  c.compute = compute_for("tpu", {.precision = gated ? Precision::bf16 : Precision::f32});
  if (!gated) c.optimizer = adafactor({});
  const auto program = train_program(t5(gated), c, placement(Reduction::global));
  EXPECT_EQ(program.placement.spread, Parallelism::mesh);
  EXPECT_GE(compile(GetParam(), program).alias_bytes, state_bytes(program));
}

TEST_P(T5TpuCompile, EvaluationStepCompiles) {
  const auto program =
      eval_program(t5(true), 16, placement(Reduction::global), compute_for("tpu", {}));
  EXPECT_GE(compile(GetParam(), program).argument_bytes, state_bytes(program));
}

TEST_F(TpuCompile, T5AndAdafactorAreShardedOverHeadsAndVocabulary) {
  TrainingConfig c = config(Reduction::global);
  c.optimizer = adafactor({});
  const auto program = train_program(
      t5(false), c,
      placement_for(
          "tpu", 8, Reduction::global,
          partition_for({.mesh = "data=2,fsdp=2,tensor=2", .shard_optimizer_state = true}, 8)));
  const pjrt::CompiledMemory memory = compile("v5e:2x4", program);
  EXPECT_LT(memory.argument_bytes, state_bytes(program) / 2);
}

INSTANTIATE_TEST_SUITE_P(Topologies, T5TpuCompile, testing::Values("v3:2x2", "v5e:2x4"),
                         topology_name);

// The tutorial's run: batch 256 x 512 over the 32 cores of a v2-32, 7.48 GB each. Takes minutes;
// enabled by SMELT_LONG_TESTS=1.
TEST_F(TpuCompile, JestimatorBertBaseFitsAV2Pod) {
  if (std::getenv("SMELT_LONG_TESTS") == nullptr)
    GTEST_SKIP() << "takes minutes: SMELT_LONG_TESTS=1 runs it";
  JestimatorBertTask task;
  task.model.vocab_size = 32000;
  task.settings.mask_token_id = 4;
  TrainingConfig c = config(Reduction::global);
  c.batch_size = 256;
  c.devices = 32;
  const auto program =
      train_program(jestimator_bert_task(task), c, placement_for("tpu", 32, Reduction::global));
  const pjrt::CompiledMemory memory = pjrt::Topology::tpu("v2:4x4")
                                          .compile(emit_module(program.program, "step"),
                                                   execution::compile_options(program.placement))
                                          .memory();
  EXPECT_GE(memory.alias_bytes, state_bytes(program));
  EXPECT_LT(static_cast<double>(memory.argument_bytes + memory.temporary_bytes), 7.48e9);
}

}  // namespace
}  // namespace smelt::model
