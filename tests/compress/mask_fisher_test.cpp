// Compares the gradients of masks with finite differences of losses.
#include "compress/mask_fisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/ops.h"
#include "execution/train_state/compiled_step.h"
#include "execution/train_state/model_state.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

struct Case {
  model::Task task;
  data::Batch batch;
  io::TensorMap state;
  std::vector<MaskedProduct> products;
  std::shared_ptr<const void> owner;  // owns the memory of `state`
};

Case case_of(const std::string& kind) {
  if (kind == "t5") {
    const auto golden = std::make_shared<const GoldenT5>("gated");
    return {.task = model::t5_task(golden->settings()),
            .batch = golden->batch(),
            .state = golden->state(),
            .products = {{"encoder/block_1/layer_001/DenseReluDense/wo/kernel", 24},
                         {"encoder/block_0/layer_000/SelfAttention/o", 3},
                         {"decoder/block_2/layer_001/EncDecAttention/o", 3},
                         {"decoder/block_0/layer_002/DenseReluDense/wo/kernel", 24}},
            .owner = golden};
  }
  const auto golden = std::make_shared<const GoldenClassify>(kind);
  const std::string scope = kind == "electra" ? "electra" : "bert";
  return {.task = model::classify_task(golden->settings()),
          .batch = golden->batch(),
          .state = golden->state(),
          .products = {{scope + "/encoder/layer_0/output/dense/kernel", 24},
                       {scope + "/encoder/layer_1/output/dense/kernel", 24},
                       {scope + "/encoder/layer_1/attention/output/dense/kernel", 2}},
          .owner = golden};
}

class MaskGradients : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, MaskGradients, testing::Values("bert", "electra", "t5"),
                         [](const auto& info) { return info.param; });

std::vector<std::vector<float>> run(const pjrt::Client& client, const model::StepProgram& program,
                                    const execution::CompiledStep& step, const data::Batch& batch,
                                    const io::TensorMap& state) {
  const execution::ModelState on_device =
      execution::ModelState::restore(client, program.placement, program.state, state, "test");
  pjrt::Execution execution = step.run(batch, on_device);
  execution.await();
  std::vector<std::vector<float>> out;
  for (const pjrt::Buffer& result : execution.results[0]) out.push_back(result.to_host<float>());
  return out;
}

TEST_P(MaskGradients, MatchFiniteDifferences) {
  SMELT_OPEN_CPU(client, 1);
  const Case c = case_of(GetParam());
  const model::ComputePolicy exact{.exact_products = true};
  const model::StepProgram program =
      model::predict_program(mask_gradients(c.task, c.products), c.batch.rows, exact);
  const execution::CompiledStep step(client, program);
  const auto gradients = run(*client, program, step, c.batch, c.state);
  ASSERT_EQ(gradients.size(), c.products.size());
  model::Prediction losses{.features = c.task.features};
  losses.outputs = [&](const model::Scope& root, const model::Inputs& inputs) {
    std::vector<compiler::Tensor> out;
    for (const model::Metric& m : c.task.objective(root, inputs).losses) {
      EXPECT_EQ(m.norm, model::Norm::mean);
      out.push_back(m.sum / m.weight * m.factor);
    }
    return out;
  };
  const model::StepProgram loss_program = model::predict_program(losses, c.batch.rows, exact);
  const execution::CompiledStep loss_step(client, loss_program);
  const auto loss_with = [&](const MaskedProduct& product, std::int64_t unit, float mask) {
    io::TensorMap state = c.state;
    io::TensorView& view = state.at(product.parameter);
    auto values = io::tensor_values<float>(view);
    const auto size = static_cast<std::int64_t>(values.size()) / product.units;
    for (std::int64_t i = unit * size; i < (unit + 1) * size; ++i)
      values[static_cast<std::size_t>(i)] *= mask;
    view.data = std::as_bytes(std::span(values));
    double sum = 0;
    for (const auto& loss : run(*client, loss_program, loss_step, c.batch, state)) sum += loss[0];
    return sum;
  };
  double most = 0;
  for (std::size_t p = 0; p < c.products.size(); ++p) {
    ASSERT_EQ(gradients[p].size(), c.products[p].units);
    for (const std::int64_t unit : {std::int64_t{0}, c.products[p].units - 1}) {
      const auto difference_by = [&](float step_size) {
        return (loss_with(c.products[p], unit, 1 + step_size) -
                loss_with(c.products[p], unit, 1 - step_size)) /
               (2 * step_size);
      };
      // Richardson extrapolation, which removes the error that is quadratic in the step.
      const double difference = (4 * difference_by(0.03125) - difference_by(0.0625)) / 3;
      const float gradient = gradients[p][static_cast<std::size_t>(unit)];
      EXPECT_NEAR(gradient, difference, 1e-4 + 1e-3 * std::fabs(difference))
          << c.products[p].parameter << " " << unit;
      most = std::max(most, std::fabs(difference));
    }
  }
  EXPECT_GT(most, 3e-3);  // otherwise any gradient would pass
}

}  // namespace
}  // namespace smelt::compress
