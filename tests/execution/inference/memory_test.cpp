// Out-of-memory errors: the message is the same whenever the plugin detects them.
#include <gmock/gmock.h>

#include "compiler/ops/ops.h"
#include "execution/inference/row_model.h"
#include "execution/train_state/compiled_step.h"
#include "model/nn/einsum.h"
#include "runs/small_run.h"
#include "support/error_of.h"

namespace smelt::execution {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Fitting, ReportsOutOfMemoryWithThePluginsFiguresAndAHint) {
  const MemoryAdvice advice = advice_for_training("train: step 7", recipe_field);
  const auto failing = [&](const std::string& text, pjrt_abi::ErrorCode code) {
    return error_of([&] { fitting(advice, [&]() -> int { throw pjrt::PjrtError(text, code); }); });
  };
  EXPECT_EQ(
      failing("EventAwait: Out of memory while trying to allocate 8.00GiB.\nBFC: a map",
              pjrt_abi::ErrorCode::resource_exhausted),
      "train: step 7 does not fit into the memory of a device: EventAwait: Out of memory "
      "while trying to allocate 8.00GiB.\n"
      "  hint: set train.memory.remat_policy to layer (with train.memory.layers scan) or raise "
      "train.gradient_accumulation_steps; more devices or train.parallelism.mesh fsdp=… also help");
  EXPECT_EQ(failing("EventAwait: a fault", pjrt_abi::ErrorCode::unknown), "EventAwait: a fault");
  EXPECT_EQ(fitting(advice, [] { return 3; }), 3);
}

// 2^48 bytes, which is more than any process can address.
compiler::Tensor larger_than_any_memory(compiler::Graph& graph) {
  const compiler::Tensor column = compiler::tanh(compiler::convert(
      compiler::iota(graph, {compiler::DType::s32, {1 << 23, 3}}, 0), compiler::DType::f32));
  return compiler::reduce_sum(compiler::tanh(model::einsum("ik,jk->ij", column, column)), {0, 1});
}

class Memory : public SmallRun {
 protected:
  static void grow(model::Task& task) {
    task.objective = [usual = task.objective](const model::Scope& root,
                                              const model::Inputs& inputs) {
      model::Objective out = usual(root, inputs);
      const compiler::Tensor sum = larger_than_any_memory(root.graph());
      out.metrics.push_back({.name = "large", .sum = sum, .weight = compiler::ones_like(sum)});
      return out;
    };
  }
};

TEST_F(Memory, OutOfMemoryMessagesNameTheStepTheEvaluationOrTheInference) {
  train::TrainJob large = job("large", 3);
  grow(large.task);
  EXPECT_THAT(error_of<UsageError>([&] { train::train(large); }),
              AllOf(HasSubstr("train: "), HasSubstr(" does not fit into the memory of a device: "),
                    HasSubstr("hint: set train.memory.remat_policy to layer")));
  save_first_weights("model");
  EvaluateJob evaluation = this->evaluation("model");
  evaluation.task = large.task;
  EXPECT_THAT(error_of<UsageError>([&] { evaluate(evaluation); }),
              AllOf(HasSubstr("eval: a batch does not fit into the memory of a device: "),
                    HasSubstr("hint: lower eval.batch_size; more devices")));
  const model::Prediction answers{
      .features = {{.name = "input_ids", .row = {2}, .limit = 9}},
      .outputs = [](const model::Scope& root, const model::Inputs&) {
        return std::vector<compiler::Tensor>{larger_than_any_memory(root.graph())};
      }};
  EXPECT_THAT(error_of<UsageError>([&] {
                RowModel(pjrt::open_device("cpu", 1), [&](auto, auto) { return answers; },
                         {.command = "fill", .most_tokens = 2},
                         {std::make_shared<const checkpoint::SlicedTensors>(), "model"})
                    .predict({{.ids = {1, 2}}});
              }),
              AllOf(HasSubstr("fill: the model with these texts does not fit into the memory"),
                    HasSubstr("hint: give fewer texts at a time")));
}

}  // namespace
}  // namespace smelt::execution
