#include "compress/product_inputs.h"

#include <memory>
#include <regex>
#include <unordered_map>

#include "base/error.h"
#include "checkpoint/interop/stored_family.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/table.h"
#include "model/train_step/program.h"

namespace smelt::compress {
namespace {

// Returns the input [B,L,C] of each matmul in the graph by its kernel. Relative embeddings [K,C],
// which some models multiply by the same kernels, are not inputs.
std::unordered_map<compiler::Tensor, compiler::Tensor> inputs_by_kernel(
    std::span<const compiler::Tensor> losses) {
  std::unordered_map<compiler::Tensor, compiler::Tensor> out;
  for (const compiler::Node* node : compiler::reachable(losses))
    if (node->op == &compiler::kDotGeneral) {
      const auto [at, is_new] = out.emplace(node->inputs[1], node->inputs[0]);
      if (!is_new && at->second.rank() < node->inputs[0].rank()) at->second = node->inputs[0];
    }
  return out;
}

// Returns the stack whose tokens a matmul processes: 0 for the encoder, also for keys and values of
// cross-attention; 1 for the decoder.
std::size_t stack_of(const std::string& parameter) {
  const bool of_encoder =
      parameter.ends_with("EncDecAttention/k") || parameter.ends_with("EncDecAttention/v");
  return parameter.starts_with("decoder/") && !of_encoder ? 1 : 0;
}

struct Taken {
  std::string parameter;
  compiler::Tensor rows;
  compiler::Tensor mask;  // s32 [B,L]
};

std::vector<Taken> taken_by(const model::Task& task, const std::vector<std::string>& parameters,
                            const model::Scope& root, const model::Inputs& inputs) {
  CHECK(task.tells.has_value(), task.name);
  model::ForwardOutputs forward;
  forward.stacks.resize(task.tells->sizes.stacks.size());
  std::vector<compiler::Tensor> losses;
  for (const model::Metric& m : task.tells->objective(root, inputs, forward).losses)
    losses.push_back(m.sum);
  const auto by_kernel = inputs_by_kernel(losses);
  std::vector<Taken> out;
  for (const std::string& name : parameters) {
    const auto found = by_kernel.find(root.shared(name));
    CHECK(found != by_kernel.end(), name, " has no product");
    out.push_back({name, found->second, forward.stacks.at(stack_of(name)).mask});
  }
  return out;
}

}  // namespace

std::string kernel_of(std::string module) {
  for (const checkpoint::StoredFamily* family : checkpoint::stored_families())
    if (std::string kernel = family->kernel_of_module(module); !kernel.empty()) return kernel;
  const bool is_attention_of_t5 = module.find("Attention.") != std::string::npos;
  module = std::regex_replace(module, std::regex(R"(\.block\.(\d+)\.layer\.(\d+)\.)"),
                              "/block_$1/layer_00$2/");
  module = std::regex_replace(module, std::regex(R"(\.layer\.(\d+)\.)"), "/layer_$1/");
  for (char& c : module)
    if (c == '.') c = '/';
  return is_attention_of_t5 ? module : module + "/kernel";
}

std::vector<ProductInput> product_inputs(const model::Task& task,
                                         const std::vector<std::string>& parameters,
                                         const RowPass& pass) {
  const auto out = std::make_shared<std::vector<ProductInput>>();
  model::Prediction wanted{
      .features = task.features, .outputs = [&](const model::Scope& root, const model::Inputs& in) {
        std::unordered_map<compiler::Tensor, std::size_t> places;
        const auto taken = taken_by(task, parameters, root, in);
        for (const Taken& one : taken) {
          const auto [at, is_new] = places.emplace(one.rows, out->size());
          if (is_new) out->push_back({{}, one.mask.shape().elements(), one.rows.dim(-1)});
          (*out)[at->second].parameters.push_back(one.parameter);
        }
        return std::vector<compiler::Tensor>{taken.front().rows};
      }};
  (void)model::predict_program(wanted, pass.rows());
  return std::move(*out);
}

void each_group(const std::vector<ProductInput>& inputs,
                const std::function<std::size_t(const ProductInput& input)>& size, std::size_t most,
                const std::function<void(std::vector<ProductInput> group)>& take) {
  std::vector<ProductInput> group;
  std::size_t held = 0;
  for (const ProductInput& input : inputs) {
    if (!group.empty() && held + size(input) > most) {
      take(std::move(group));
      group.clear();
      held = 0;
    }
    group.push_back(input);
    held += size(input);
  }
  if (!group.empty()) take(std::move(group));
}

void run_on_inputs(const model::Task& task, const std::vector<ProductInput>& inputs,
                   const RowPass& pass, const InputOutputs& wanted) {
  std::vector<std::string> parameters;
  for (const ProductInput& input : inputs) parameters.push_back(input.parameters.front());
  const auto outputs = [&](const model::Scope& root, const model::Inputs& in) {
    std::vector<compiler::Tensor> out;
    const auto taken = taken_by(task, parameters, root, in);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const auto& [parameter, rows, mask] = taken[i];
      const std::int64_t T = inputs[i].tokens, C = inputs[i].columns;
      CHECK(rows.shape().elements() == T * C, parameter, rows.shape());
      const compiler::Tensor counts =
          compiler::reshape(compiler::convert(mask, compiler::DType::f32), {T, 1});
      for (const compiler::Tensor one :
           wanted.of(inputs[i], compiler::reshape(rows, {T, C}), counts))
        out.push_back(one);
    }
    CHECK(out.size() == inputs.size() * wanted.outputs, out.size());
    return out;
  };
  run_on_rows(pass, {.features = task.features, .outputs = outputs},
              [&](std::size_t i, std::span<const float> values) {
                wanted.take(i / wanted.outputs, i % wanted.outputs, values);
              });
}

}  // namespace smelt::compress
