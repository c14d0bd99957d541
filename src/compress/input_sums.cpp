#include "compress/input_sums.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "nn/einsum.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "step/program.h"

namespace smelt {
namespace {

constexpr std::size_t kMostInputSums = std::size_t{1} << 25;  // doubles of a pass
constexpr std::size_t kOutputsOfInput = 2;                    // of an input

// The products of one input.
struct Shared {
  std::vector<std::string> parameters;
  std::int64_t columns = 0;
};

// The rows [B,L,C] that each kernel's product takes, by the kernel.
std::unordered_map<Tensor, Tensor> inputs_by_kernel(std::span<const Tensor> losses) {
  std::unordered_map<Tensor, Tensor> out;
  for (const Node* node : reachable(losses))
    if (node->op == &kDotGeneral) out.emplace(node->inputs[1], node->inputs[0]);
  return out;
}

// A decoder's tokens are its own, but for what it is told of the encoder's.
std::size_t stack_of(const std::string& parameter) {
  const bool of_encoder =
      parameter.ends_with("EncDecAttention/k") || parameter.ends_with("EncDecAttention/v");
  return parameter.starts_with("decoder/") && !of_encoder ? 1 : 0;
}

struct Taken {
  std::string parameter;
  Tensor rows;
  Tensor mask;  // s32 [B,L]
};

std::vector<Taken> taken_by(const Task& task, const std::vector<std::string>& parameters,
                            const Scope& root, const Inputs& inputs) {
  CHECK(task.tells.has_value(), task.name);
  Told told;
  told.stacks.resize(task.tells->sizes.stacks.size());
  std::vector<Tensor> losses;
  for (const Measure& m : task.tells->objective(root, inputs, told).losses) losses.push_back(m.sum);
  const auto by_kernel = inputs_by_kernel(losses);
  std::vector<Taken> out;
  for (const std::string& name : parameters) {
    const auto found = by_kernel.find(root.shared(name));
    CHECK(found != by_kernel.end(), name, " has no product");
    out.push_back({name, found->second, told.stacks.at(stack_of(name)).mask});
  }
  return out;
}

std::vector<Shared> shared_inputs(const Task& task, const std::vector<std::string>& parameters,
                                  std::int64_t rows) {
  const auto out = std::make_shared<std::vector<Shared>>();
  Prediction asked{.features = task.features, .outputs = [&](const Scope& root, const Inputs& in) {
                     std::unordered_map<Tensor, std::size_t> places;
                     const auto taken = taken_by(task, parameters, root, in);
                     for (const Taken& one : taken) {
                       const auto [at, is_new] = places.emplace(one.rows, out->size());
                       if (is_new) out->push_back({{}, one.rows.dim(-1)});
                       (*out)[at->second].parameters.push_back(one.parameter);
                     }
                     return std::vector<Tensor>{taken.front().rows};
                   }};
  (void)predict_program(asked, rows);
  return std::move(*out);
}

// Of each input, by its first product: sums [C,C] and rows [1].
Prediction sums_of_inputs(const Task& task, const std::vector<Shared>& together) {
  std::vector<std::string> parameters;
  for (const Shared& one : together) parameters.push_back(one.parameters.front());
  return {.features = task.features,
          .outputs = [task, parameters](const Scope& root, const Inputs& in) {
            std::vector<Tensor> out;
            for (const Taken& one : taken_by(task, parameters, root, in)) {
              const std::int64_t T = one.mask.shape().elements(), C = one.rows.dim(-1);
              CHECK(one.rows.shape().elements() == T * C, one.parameter, one.rows.shape());
              const Tensor counts = reshape(convert(one.mask, DType::f32), {T, 1});
              const Tensor x = reshape(one.rows, {T, C}) * counts;
              out.push_back(einsum("ta,tb->ab", x, x));
              out.push_back(reshape(reduce_sum(counts, {0, 1}), {1}));
            }
            return out;
          }};
}

void take_together(const Task& task, const std::vector<Shared>& together, const RowPass& pass,
                   const std::function<void(InputSums sums)>& take) {
  std::vector<InputSums> out;
  for (const Shared& one : together)
    out.push_back(
        {one.parameters, std::vector<double>(static_cast<std::size_t>(one.columns * one.columns))});
  ask_rows(pass, sums_of_inputs(task, together), [&](std::size_t i, std::span<const float> values) {
    InputSums& to = out[i / kOutputsOfInput];
    if (i % kOutputsOfInput == 1) {
      to.rows += values[0];
      return;
    }
    for (std::size_t at = 0; at < values.size(); ++at) to.sums[at] += values[at];
  });
  for (InputSums& sums : out) take(std::move(sums));
}

}  // namespace

void each_input_sums(const Task& task, const std::vector<std::string>& parameters,
                     const RowPass& pass, const std::function<void(InputSums sums)>& take) {
  std::vector<Shared> together;
  std::size_t held = 0;
  for (Shared& one : shared_inputs(task, parameters, pass.rows())) {
    const auto size = static_cast<std::size_t>(one.columns * one.columns);
    if (!together.empty() && held + size > kMostInputSums) {
      take_together(task, together, pass, take);
      together.clear();
      held = 0;
    }
    together.push_back(std::move(one));
    held += size;
  }
  take_together(task, together, pass, take);
}

}  // namespace smelt
