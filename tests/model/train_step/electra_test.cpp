// ELECTRA with its own masks and samples: results do not depend on the number of devices,
// micro-batches or scanned layers, also in evaluation.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <sstream>

#include "execution/train_state/compiled_step.h"
#include "runs/golden_bert.h"
#include "runs/golden_electra.h"
#include "runs/probe.h"
#include "runs/state_values.h"
#include "support/error_of.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::DType;
using compiler::emit_module;
using compiler::RematPolicy;
namespace {

constexpr double kRounding = 1e-6;  // relative; f32 sums in another order
constexpr std::int64_t kElectraSteps = 4, kElectraRows = 8;

enum class Weights { golden, drawn };

struct ElectraRun {
  std::vector<std::vector<float>> reports;
  StateValues last;
};

class ElectraDraws : public testing::Test {
 protected:
  // A discriminator with up to two of the golden model's layers, and a generator with one.
  static ElectraTask settings(const std::string& name = "electra", double dropout = 0.1,
                              std::int64_t layers = 1) {
    ElectraTask c = GoldenElectra(name).settings();
    c.settings.masks = MaskDraws::distinct;
    c.model.num_hidden_layers = layers;
    c.model.generator_layers = 1 / static_cast<double>(layers);
    c.model.hidden_dropout_prob = c.model.attention_probs_dropout_prob = dropout;
    return c;
  }

  static TrainingConfig config() {
    TrainingConfig c = GoldenElectra("electra").config();
    c.batch_size = kElectraRows;
    return c;
  }

  static ElectraRun train(const std::shared_ptr<const pjrt::Client>& client,
                          const TrainingConfig& c, const ElectraTask& task = settings(),
                          PartitionRules partition = {}, Weights weights = Weights::golden) {
    const GoldenElectra golden("electra");
    const StepProgram program = train_program(
        electra_task(task), c, placement_for("cpu", c.devices, c.reduction, std::move(partition)));
    const execution::CompiledStep compiled(client, program);
    execution::ModelState state =
        weights == Weights::drawn
            ? execution::ModelState::fresh(*client, program.placement, program.state, c.seed)
            : execution::ModelState::restore(*client, program.placement, program.state,
                                             golden.state(), "golden");
    ElectraRun out;
    for (std::int64_t i = 0; i < kElectraSteps; ++i) {
      pjrt::Execution execution = compiled.run(golden.tokens(i), state, i);
      out.reports.push_back(execution.results[0].back().to_host<float>());
      state.replace(execution.results);
    }
    out.last = values_of(state);
    return out;
  }

  // Adds up the reports of batches numbered from 0, with `rows` examples each.
  static ReportSums evaluate(const std::shared_ptr<const pjrt::Client>& client,
                             const ElectraTask& task, std::int64_t devices, std::int64_t rows) {
    const GoldenElectra golden("electra");
    const StepProgram program =
        eval_program(electra_task(task), rows, placement_for("cpu", devices, Reduction::global));
    const execution::CompiledStep compiled(client, program);
    const execution::ModelState state = execution::ModelState::restore(
        *client, program.placement, program.state, golden.state(), "golden");
    ReportSums sums(program.report);
    for (std::int64_t i = 0; i < 16 / rows; ++i) {
      const std::int64_t first = i * rows % kElectraRows;
      const data::Batch batch =
          rows_of(golden.tokens(i * rows / kElectraRows), first, first + rows);
      sums.add(compiled.run(batch, state, i).results[0][0].to_host<float>());
    }
    return sums;
  }
};

// Includes counts, which a single different sample would change.
void expect_same(const ElectraRun& got, const ElectraRun& want, double limit = kRounding) {
  for (std::size_t step = 0; step < want.reports.size(); ++step) {
    ASSERT_EQ(got.reports[step].size(), want.reports[step].size());
    for (std::size_t i = 0; i < want.reports[step].size(); ++i)
      EXPECT_NEAR(got.reports[step][i], want.reports[step][i],
                  limit * std::max(1.0f, std::abs(want.reports[step][i])))
          << "number " << i << " of step " << step;
  }
  expect_same_state(got.last, want.last, limit);
}

TEST_F(ElectraDraws, EightDevicesMatchOne) {
  SMELT_OPEN_CPU(client, 8);
  TrainingConfig c = config();
  const ElectraRun one = train(client, c);
  EXPECT_GT(std::abs(one.reports[0][0] - one.reports[3][0]), 1e-3);
  c.devices = 8;
  expect_same(train(client, c), one, 1e-5);
  SCOPED_TRACE("parameters split");
  expect_same(train(client, c, settings(), partition_for({.mesh = "data=4,fsdp=2"}, 8)), one, 1e-5);
}

// Wide enough that the generator has two heads.
ElectraTask wide_electra(bool is_electric) {
  ElectraTask c = GoldenElectra("electra").settings();
  c.settings.masks = MaskDraws::distinct;
  c.settings.electra_objective = !is_electric;
  c.settings.electric_objective = is_electric;
  c.model.hidden_size = 128;
  c.model.num_hidden_layers = 1;
  c.model.generator_hidden_size = c.model.generator_layers = 1;
  c.model.initializer_range = 0.1;
  c.model.hidden_dropout_prob = c.model.attention_probs_dropout_prob = 0.1;
  return c;
}

TEST_F(ElectraDraws, EightDevicesMatchOneOverMeshesThatSplitHeads) {
  SMELT_OPEN_CPU(client, 8);
  for (const bool is_electric : {false, true}) {
    const ElectraTask task = wide_electra(is_electric);
    TrainingConfig c = config();
    const ElectraRun one = train(client, c, task, {}, Weights::drawn);
    EXPECT_GT(std::abs(one.reports[0][0] - one.reports[3][0]), 1e-3);
    c.devices = 8;
    std::vector<MeshChoice> meshes{{.mesh = "data=4,tensor=2", .rules = "vocab=none"},
                                   {.mesh = "data=2,fsdp=2,tensor=2", .rules = "vocab=none"}};
    if (is_electric) meshes.push_back({.mesh = "data=4,fsdp=2"});
    for (const MeshChoice& mesh : meshes) {
      SCOPED_TRACE(str(mesh.mesh, is_electric ? " electric" : ""));
      expect_same(train(client, c, task, partition_for(mesh, 8), Weights::drawn), one, 1e-5);
    }
  }
}

// Picking scores would round them in a TPU's matmul, so rows of the encoder are picked.
TEST_F(ElectraDraws, TwoTowersSelectMaskedPositionsBeforeTheLmHead) {
  const ElectraTask task = wide_electra(true);
  TrainingConfig c = config();
  c.compute = compute_for("tpu", {});
  const std::string text = emit_module(
      train_program(electra_task(task), c, placement_for("tpu", 1, c.reduction)).program, "step");
  const std::string words = str("x", task.model.vocab_size, "xf32>");
  std::istringstream lines(text);
  std::size_t scored = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("stablehlo.dot_general") == std::string::npos) continue;
    scored += line.find(words) != std::string::npos ? 1 : 0;
    EXPECT_EQ(line.find(str("tensor<", kElectraRows, "x", task.seq_length, words)),
              std::string::npos)
        << line;
  }
  EXPECT_GT(scored, 0u);
}

TEST_F(ElectraDraws, MicroBatchesAndScannedLayersMatch) {
  SMELT_OPEN_CPU(client, 1);
  const TrainingConfig c = config();
  const ElectraTask deep = settings("electra", 0.1, 2);
  const ElectraRun whole = train(client, c, deep);
  TrainingConfig parts = c, loop = c;
  parts.micro_batches = 4;
  expect_same(train(client, parts, deep), whole);
  SCOPED_TRACE("a loop");
  loop.compute = {.layers = Layers::scan, .save = RematPolicy::products};
  expect_same(train(client, loop, deep), whole);
}

// Within one bf16 unit in the last place, 2^-8. The masks are identical, as their number shows.
TEST_F(ElectraDraws, FirstLossInBf16IsNearF32) {
  SMELT_OPEN_CPU(client, 8);  // shares the f32 program with EightDevicesMatchOne
  TrainingConfig c = config();
  const ElectraRun exact = train(client, c);
  c.compute.dtype = DType::bf16;
  const ElectraRun narrow = train(client, c);
  EXPECT_NEAR(narrow.reports[0][0], exact.reports[0][0], 0x1p-8 * exact.reports[0][0]);
  EXPECT_GT(std::abs(narrow.reports[0][0] / exact.reports[0][0] - 1), kRounding);
  const std::size_t masks = 4;  // after loss, norm, rate and the sum of masked_lm_loss
  for (std::size_t step = 0; step < exact.reports.size(); ++step)
    EXPECT_EQ(narrow.reports[step][masks], exact.reports[step][masks]);
}

TEST_F(ElectraDraws, EvaluationDoesNotDependOnBatchesAndDevices) {
  SMELT_OPEN_CPU(client, 8);
  const ReportSums want = evaluate(client, settings(), 1, 8);
  std::set<std::string> names;
  for (const MeasuredValue& m : want.measures()) names.insert(m.name);
  EXPECT_EQ(names, (std::set<std::string>{"always_original_accuracy", "disc_accuracy", "disc_auc",
                                          "disc_loss", "disc_precision", "disc_recall",
                                          "masked_lm_accuracy", "masked_lm_loss",
                                          "sampled_masked_lm_accuracy"}));
  for (const auto& [devices, rows] : {std::pair{1, 4}, {8, 8}}) {
    const ReportSums got = evaluate(client, settings(), devices, rows);
    for (std::size_t i = 0; i < want.measures().size(); ++i) {
      const MeasuredValue a = got.measures()[i], b = want.measures()[i];
      EXPECT_NEAR(a.value, b.value, 1e-5 * std::max(1.0, b.value)) << b.name;
      EXPECT_EQ(a.weight, b.weight) << b.name;
    }
  }
}

// Evaluates the same rows as two batches: draws depend on the row numbers, also without dropout.
TEST_F(ElectraDraws, EvaluationBatchesHaveDifferentMasks) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenElectra golden("electra");
  const StepProgram program = eval_program(electra_task(settings("electra", 0.5)), kElectraRows,
                                           placement_for("cpu", 1, Reduction::global));
  const execution::CompiledStep compiled(client, program);
  const execution::ModelState state = execution::ModelState::restore(
      *client, program.placement, program.state, golden.state(), "golden");
  const auto report = [&](std::int64_t number) {
    return compiled.run(golden.tokens(0), state, number).results[0][0].to_host<float>();
  };
  EXPECT_EQ(report(1), report(1));
  EXPECT_NE(report(0), report(1));
}

// ---- invalid settings ----

std::string refusal(const std::function<void(ElectraTask&)>& change) {
  ElectraTask c{.model = {.vocab_size = 1000}};
  change(c);
  return error_of<UsageError>([&] { electra_task(c); });
}

TEST(ElectraTask, RejectsInvalidSettings) {
  EXPECT_EQ(refusal([](ElectraTask&) {}), "no error");
  EXPECT_EQ(refusal([](ElectraTask& c) { c.seq_length = 600; }),
            "electra: sequence length 600 is longer than max_position_embeddings 512\n  hint: "
            "create the data with shorter sequences, or increase max_position_embeddings");
  EXPECT_EQ(refusal([](ElectraTask& c) { c.settings.mask_prob = 1; }),
            "electra: mask_prob is 1, must be above 0 and below 1\n  hint: 0.15 is usual");
  EXPECT_EQ(refusal([](ElectraTask& c) { c.settings.mask_prob = 0.001; }),
            "electra: mask_prob 0.001 of 128 tokens gives 0 masks\n  hint: choose a mask_prob that "
            "masks at least one token and at most all");
  EXPECT_EQ(refusal([](ElectraTask& c) { c.model.vocab_size = 103; }),
            "electra: id 103 of [CLS], [SEP] or [MASK] must be below vocab_size 103\n  hint: set "
            "vocab_size to the number of lines of the vocabulary of the data");
  EXPECT_EQ(refusal([](ElectraTask& c) { c.settings.temperature = 0; }),
            "electra: temperature is 0, must be above 0\n  hint: 1 is usual");
  EXPECT_EQ(refusal([](ElectraTask& c) { c.settings.gen_weight = -1; }),
            "electra: gen_weight -1 and disc_weight 50 must be at least 0\n  hint: 1 and 50 are "
            "usual");
  EXPECT_EQ(refusal([](ElectraTask& c) {
              c.settings.electric_objective = c.settings.uniform_generator = true;
            }),
            "electra: uniform_generator cannot be combined with two towers\n  hint: remove "
            "uniform_generator, or two_tower_generator and electric_objective");
  EXPECT_EQ(refusal([](ElectraTask& c) {
              c.settings.two_tower_generator = true;
              c.model.untied_generator = false;
            }),
            "electra: two towers require untied_generator\n  hint: set untied_generator");
  EXPECT_EQ(refusal([](ElectraTask& c) {
              c.settings.electra_objective = false;
              c.settings.uniform_generator = true;
            }),
            "electra: uniform_generator and two_tower_generator require a discriminator\n  hint: "
            "remove them, or set electra_objective");
}

}  // namespace
}  // namespace smelt::model
