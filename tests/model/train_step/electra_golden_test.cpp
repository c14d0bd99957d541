// ELECTRA, its gradients, metrics and optimizer compared with the original program
// (tools/golden_electra.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/ops/ops.h"
#include "model/models/electra.h"
#include "model/nn/layers.h"
#include "runs/golden_electra.h"
#include "runs/probe.h"
#include "runs/state_values.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::DType;
using compiler::emit_module;
using compiler::Tensor;
namespace {

class Electra : public testing::TestWithParam<std::string> {};
class ElectraSampler : public Electra {};

std::vector<std::string> cases_that_sample() {
  std::vector<std::string> names = GoldenElectra::cases();
  std::erase(names, "masked_lm");
  return names;
}

double gradient_norm(const GoldenElectra& golden) {
  double sum = 0;
  for (const auto& [name, parameter] : golden.state())
    if (golden.has("grad/" + name))
      for (const float g : golden.values("grad/" + name)) sum += static_cast<double>(g) * g;
  return std::sqrt(sum);
}

void expect_near(const GoldenElectra& golden, const std::string& parameter,
                 const std::vector<float>& gradient, double tolerance, double norm) {
  // TensorFlow returns no gradient for parameters that the loss does not depend on.
  const auto known = golden.has("grad/" + parameter) ? golden.values("grad/" + parameter)
                                                     : std::vector<float>(gradient.size());
  const auto [difference, size] = distance(gradient, known);
  // A key bias shifts all scores of a query equally, so its gradient is zero up to rounding.
  const bool zero = parameter.ends_with("key/bias");
  EXPECT_LE(difference, tolerance * (zero ? norm : size)) << parameter;
}

TEST_P(Electra, LossAndGradientsMatchTheOriginal) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenElectra golden(GetParam());
  const Task task = golden.task();
  const Probe got =
      probe(client,
            {.features = task.features,
             .outputs = [&](const Scope& root,
                            const Inputs& in) { return losses_and_gradients(task, root, in); }},
            golden.batch(0), golden.state());
  const double want = golden.facts()["loss"];
  EXPECT_NEAR(got.results[0][0], want, kLossTolerance * want);
  const auto& parameters = got.layout.tensors;
  EXPECT_EQ(parameters.size() * 3, golden.state().size());  // a value and two moments
  const std::size_t first = got.results.size() - parameters.size();
  EXPECT_EQ(first, GetParam() == "masked_lm" ? 2u : 3u);
  const double norm = gradient_norm(golden);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    expect_near(golden, parameters[i].name, got.results[first + i], kGradientTolerance, norm);
}

// Blocks of 4 of Electric's 30 words.
TEST(ElectraGolden, VocabularyBlocksMatchTheOriginal) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenElectra golden("electric");
  const ElectraTask settings = golden.settings();
  TrainingConfig config = golden.config();
  const std::int64_t rows = golden.batch(0).rows * settings.seq_length;
  config.compute.logits_bytes = rows * 4 * static_cast<std::int64_t>(sizeof(float));
  config.batch_size = golden.batch(0).rows;
  const std::string text = emit_module(
      train_program(golden.task(), config, placement_for("cpu", 1, {})).program, "step");
  EXPECT_EQ(text.find(str("tensor<", rows, "x", settings.model.vocab_size, "xf32>")),
            std::string::npos);
  const auto [loss, gradients] =
      step_gradients(client, golden.task(), config, golden.batch(0), golden.state());
  const double want = golden.facts()["loss"], norm = gradient_norm(golden);
  EXPECT_NEAR(loss, want, kLossTolerance * want);
  for (const auto& [name, gradient] : gradients)
    if (golden.has("grad/" + name)) expect_near(golden, name, gradient, kGradientTolerance, norm);
}

class NarrowElectra : public Electra {};

TEST_P(NarrowElectra, LossAndGradientsInBf16AreNearTheOriginal) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenElectra golden(GetParam());
  for (const ComputePolicy& compute :
       {ComputePolicy{.dtype = DType::bf16}, compute_for("tpu", {.precision = Precision::bf16})}) {
    SCOPED_TRACE(compute.layers == Layers::scan ? "as on a TPU" : "unrolled");
    TrainingConfig config = golden.config();
    config.compute = compute;
    const auto [loss, gradients] =
        step_gradients(client, golden.task(), config, golden.batch(0), golden.state());
    const double want = golden.facts()["loss"], norm = gradient_norm(golden);
    EXPECT_NEAR(loss, want, 0x1p-8 * want);
    for (const auto& [name, gradient] : gradients)
      if (golden.has("grad/" + name))
        expect_near(golden, name, gradient, kNarrowGradientTolerance, norm);
  }
}

// The sampler gets the generator's logits divided by the temperature.
TEST_P(ElectraSampler, GeneratorLogitsMatchTheOriginal) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenElectra golden(GetParam());
  ElectraTask settings = golden.settings();
  settings.settings.disallow_correct = false;
  const Probe got = probe(
      client,
      {.features = golden.task().features,
       .outputs =
           [&](const Scope& root, const Inputs& in) {
             Tensor seen;
             electra_objective(root, settings,
                               {.inputs = {in["input_ids"], in["input_mask"], in["segment_ids"]},
                                .masked_ids = in["masked_ids"],
                                .masks = {in["masked_lm_positions"], in["masked_lm_ids"],
                                          in["masked_lm_weights"]}},
                               [&](Tensor logits) {
                                 seen = logits * settings.settings.temperature;
                                 return in["sampled_ids"];
                               });
             return std::vector<Tensor>{seen};
           }},
      golden.batch(0), golden.state());
  const auto [difference, size] =
      distance(got.results[0], golden.values("output/generator_logits"));
  EXPECT_LE(difference, kLossTolerance * size);
}

// Over all batches, accumulated like the original's evaluation; its disc_loss is a mean of per-row
// means.
TEST_P(Electra, MetricsMatchTheOriginal) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenElectra golden(GetParam());
  const StepProgram program =
      eval_program(golden.task(), golden.batch(0).rows, placement_for("cpu", 1, {}));
  const execution::CompiledStep step(client, program);
  const execution::ModelState state = execution::ModelState::restore(
      *client, program.placement, program.state, golden.state(), "golden");
  ReportSums sums(program.report);
  for (std::int64_t i = 0; i < golden.batches(); ++i)
    sums.add(step.run(golden.batch(i), state).results[0][0].to_host<float>());
  std::map<std::string, double> got{{"loss", sums.figure("loss")}};
  for (const MeasuredValue& m : sums.measures()) got[m.name] = m.value;
  for (const auto& [name, want] : golden.facts()["metrics"].items()) {
    ASSERT_TRUE(got.contains(name)) << name;
    if (name == "disc_loss") continue;
    // tf.metrics accumulates in f32.
    EXPECT_NEAR(got[name], want.get<double>(), 2 * kLossTolerance * std::max(1.0, got[name]))
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Electra, testing::ValuesIn(GoldenElectra::cases()),
                         [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(Cases, NarrowElectra, testing::Values("electra", "electric"),
                         [](const auto& info) { return std::string(info.param); });

INSTANTIATE_TEST_SUITE_P(Cases, ElectraSampler, testing::ValuesIn(cases_that_sample()),
                         [](const auto& info) { return info.param; });

TEST(ElectraGolden, DiscriminatorLogitsMatchTheOriginal) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenElectra golden("electra");
  const ElectraConfig model = golden.settings().model;
  const Probe got = probe(
      client,
      {.features = golden.task().features,
       .outputs =
           [&](const Scope& root, const Inputs& in) {
             EncoderInputs fake{in["input_ids"], in["input_mask"], in["segment_ids"]};
             electra_generator(root, model, fake);
             fake.input_ids =
                 replace_tokens(fake.input_ids, in["masked_lm_positions"], in["sampled_ids"]).ids;
             const auto encoded = electra(root, model, fake, Shared::embeddings);
             return std::vector<Tensor>{electra_replaced_logits(root, model, encoded.sequence)};
           }},
      golden.batch(0), golden.state());
  const auto [difference, size] = distance(got.results[0], golden.values("output/disc_logits"));
  EXPECT_LE(difference, kLossTolerance * size);
}

// Returns the golden batch with other ids.
data::Batch with_ids(const GoldenElectra& golden, const io::Features& features,
                     std::vector<std::int32_t> ids) {
  data::Batch batch = golden.batch(0, features);
  const auto bytes = std::as_bytes(std::span(ids));
  batch.arrays[0].bytes.assign(bytes.begin(), bytes.end());
  return batch;
}

TEST(ElectraGolden, MaskPredictionsAreTheBestTokensOfTheGenerator) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenElectra golden("electra");
  const ElectraTask c = golden.settings();
  const std::int64_t P = c.masking().most, V = c.model.vocab_size;
  Prediction guesses = electra_mask_guesses(c, c.seq_length, P, 2, "fill");
  guesses.outputs = [inner = guesses.outputs](const Scope& root, const Inputs& in) {
    return std::vector<Tensor>{inner(root, in)[0]};
  };
  const Probe got =
      probe(client, guesses,
            with_ids(golden, guesses.features, golden.whole_values("input/0/masked_ids")),
            golden.state());
  const auto logits = golden.values("output/generator_logits");
  ASSERT_EQ(got.results[0].size() / 2, logits.size() / static_cast<std::size_t>(V));
  for (std::size_t row = 0; row < got.results[0].size() / 2; ++row) {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row) * V;
    double sum = 0;
    for (auto at = begin; at != begin + V; ++at) sum += std::exp(*at);
    const double best = std::exp(*std::max_element(begin, begin + V)) / sum;
    EXPECT_NEAR(got.results[0][2 * row], best, kLossTolerance);
  }
}

TEST(ElectraGolden, ReplacedTokenProbabilitiesMatchTheDiscriminator) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenElectra golden("untied_embeddings");
  const ElectraTask c = golden.settings();
  const auto S = static_cast<std::size_t>(c.seq_length);
  auto ids = golden.whole_values("input/0/input_ids");
  const auto at = golden.whole_values("input/0/masked_lm_positions"),
             sampled = golden.whole_values("input/0/sampled_ids");
  const std::size_t N = at.size() / (ids.size() / S);
  std::map<std::size_t, std::pair<int, int>> put;  // sum and number of samples by position
  for (std::size_t i = 0; i < at.size(); ++i)
    if (at[i] > 0) {
      auto& [sum, count] = put[i / N * S + static_cast<std::size_t>(at[i])];
      sum += sampled[i];
      ++count;
    }
  for (const auto& [place, of] : put) ids[place] = of.first / of.second;
  const Prediction prediction = electra_replaced(c, c.seq_length, "detect");
  const Probe got =
      probe(client, prediction, with_ids(golden, prediction.features, ids), golden.state());
  const auto logits = golden.values("output/disc_logits");
  for (std::size_t i = 0; i < logits.size(); ++i)
    EXPECT_NEAR(got.results[0][i], 1 / (1 + std::exp(-logits[i])), kLossTolerance);
}

TEST(ElectraGolden, TenStepsMatchTheOriginal) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenElectra golden("electra");
  const StepProgram program =
      train_program(golden.task(), golden.config(), placement_for("cpu", 1, Reduction::global));
  const execution::CompiledStep compiled(client, program);
  execution::ModelState state = execution::ModelState::restore(
      *client, program.placement, program.state, golden.state(), "golden");
  const auto want = golden.facts()["train"].get<std::vector<float>>();
  ASSERT_EQ(want.size(), 10u);
  for (std::size_t step = 0; step < want.size(); ++step) {
    const auto at = static_cast<std::int64_t>(step);
    pjrt::Execution execution = compiled.run(golden.training_batch(at), state, at);
    EXPECT_NEAR(execution.results[0].back().to_host<float>()[0], want[step],
                kLossTolerance * want[step])
        << "step " << step;
    state.replace(execution.results);
  }
  const StateValues last = values_of(state);
  for (const char* name :
       {"generator/embeddings_project/kernel", "electra/embeddings/LayerNorm/gamma"}) {
    const auto [difference, size] = distance(last.at(name), golden.values(str("after/", name)));
    EXPECT_LE(difference, kLossTolerance * size) << name;
  }
}

}  // namespace
}  // namespace smelt::model
