#include "reference/example_program.h"

#include <algorithm>
#include <numeric>

#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"

namespace smelt::testing {

using compiler::Dims;
using compiler::DType;
using compiler::grad;
using compiler::OpExample;
using compiler::Program;
using compiler::reduce_sum;
using compiler::Tensor;
namespace {

std::vector<Tensor> build(Program& program, const OpExample& example) {
  std::vector<Tensor> inputs;
  for (const OpExample::Input& input : example.inputs)
    inputs.push_back(program.graph.argument(input.shape));
  return example.build(program.graph, inputs);
}

Tensor weighted_sum(Tensor value, Tensor weight) {
  Dims axes(value.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return reduce_sum(value * weight, axes);
}

}  // namespace

Program example_program(const OpExample& example) {
  Program program;
  program.results = build(program, example);
  return program;
}

std::optional<Program> gradient_program(const OpExample& example) {
  Program program;
  const std::vector<Tensor> values = build(program, example);
  std::vector<Tensor> wrt;
  for (const Tensor& input : program.graph.arguments())
    if (input.dtype() == DType::f64) wrt.push_back(input);
  Tensor loss;
  for (const Tensor& value : values) {
    if (value.dtype() != DType::f64) continue;
    const Tensor term = weighted_sum(value, program.graph.argument(value.shape()));
    loss = loss ? loss + term : term;
  }
  if (!loss || wrt.empty()) return std::nullopt;
  program.results = grad(loss, wrt);
  program.results.insert(program.results.begin(), loss);
  return program;
}

}  // namespace smelt::testing
