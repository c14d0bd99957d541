// Checks every primitive op in one loop, by the examples in its definition.
#include "compiler/ops/ops.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"
#include "compiler/ops/table.h"
#include "reference/cpu_device.h"
#include "reference/example_program.h"
#include "reference/interpreter.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compiler {

void PrintTo(const Op* op, std::ostream* out) { *out << op->name; }

}  // namespace smelt::compiler

namespace smelt::testing {
namespace {

class EveryOp : public ::testing::TestWithParam<const compiler::Op*> {};

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp,
                         ::testing::ValuesIn(compiler::all_ops().begin(),
                                             compiler::all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

std::vector<Value> arguments_of(const Program& program, const compiler::OpExample& example) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < program.graph.arguments().size(); ++i)
    values.push_back(
        random_value(i < example.inputs.size()
                         ? example.inputs[i]
                         : compiler::OpExample::Input{program.graph.arguments()[i].shape(), -1, 1},
                     100 + i));
  return values;
}

// Returns the relative error of the coarsest float type on the path to the result.
double tolerance(Tensor result) {
  double most = 1e-12;
  for (const compiler::Node* node : reachable(std::array{result}))
    for (const Shape& shape : node->results) {
      if (shape.dtype == DType::f32) most = std::max(most, 2e-6);
      if (shape.dtype == DType::f16) most = std::max(most, 1e-3);
      if (shape.dtype == DType::bf16) most = std::max(most, 8e-3);
    }
  return most;
}

void expect_close(const Program& program, const std::vector<Value>& got,
                  const std::vector<Value>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(str("result ", i, " ", want[i].shape));
    ASSERT_EQ(got[i].shape, want[i].shape);
    EXPECT_EQ(got[i].bits, want[i].bits);
    const double allowed = tolerance(program.results[i]);
    for (std::size_t j = 0; j < want[i].real.size(); ++j) {
      const double a = got[i].real[j], b = want[i].real[j];
      if (a == b) continue;  // infinities too
      EXPECT_LE(std::fabs(a - b), allowed * (1 + std::fabs(b))) << "element " << j;
    }
  }
}

std::string golden_text(const compiler::Op& op) {
  std::string text;
  for (const compiler::OpExample& example : op.examples()) {
    Program program = example_program(example);
    if (op.name == "sharding_constraint") program.mesh = {{"data", 8}};
    text += str("// ", op.name, ": ", example.label, "\n", emit_module(program, op.name));
  }
  return text;
}

TEST_P(EveryOp, HasAllFieldsAndAnInterpreterRule) {
  const compiler::Op& op = *GetParam();
  EXPECT_FALSE(op.name.empty());
  EXPECT_NE(op.infer, nullptr);
  EXPECT_NE(op.emit, nullptr);
  ASSERT_NE(op.examples, nullptr);
  EXPECT_NE(find_rule(op.name), nullptr);
  ASSERT_FALSE(op.examples().empty());
  for (const compiler::OpExample& example : op.examples()) {
    const Program program = example_program(example);
    bool used = false;
    for (const compiler::Node* node : reachable(program.results)) used = used || node->op == &op;
    EXPECT_TRUE(used) << "the example '" << example.label << "' does not use the op";
  }
}

TEST_P(EveryOp, EmitsTheGoldenText) {
  const compiler::Op& op = *GetParam();
  const std::string path = source_path(str("tests/golden/hlo/", op.name, ".mlir"));
  const std::string text = golden_text(op);
  EXPECT_EQ(text, golden_text(op)) << "emission is not deterministic";
  if (std::getenv("SMELT_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing; make it with SMELT_UPDATE_GOLDEN=1";
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str());
}

// The interpreter computes shapes independently and compares them with the inferred ones.
TEST_P(EveryOp, MatchesTheInterpreterOnTheCpu) {
  REQUIRE_PLUGIN("cpu");
  for (const compiler::OpExample& example : GetParam()->examples()) {
    SCOPED_TRACE(example.label);
    const Program program = example_program(example);
    const auto arguments = arguments_of(program, example);
    expect_close(program, run_on_cpu(program, arguments),
                 interpret(program.graph, program.results, arguments));
  }
}

double loss_at(const Program& program, const std::vector<Value>& arguments) {
  return interpret(program.graph, {program.results[0]}, arguments)[0].real[0];
}

// Compares <gradient, u> with (loss(x + h u) - loss(x - h u)) / 2h for a random direction u of all
// f64 inputs.
void check_direction(const Program& program, const std::vector<Value>& arguments,
                     std::size_t input_count) {
  constexpr double kStep = 1e-5;
  const auto results = interpret(program.graph, program.results, arguments);
  std::vector<Value> ahead = arguments, behind = arguments;
  double along = 0, scale = 0;
  std::size_t next = 1;
  for (std::size_t i = 0; i < input_count; ++i) {
    if (arguments[i].shape.dtype != DType::f64) continue;
    const Value u = random_value({arguments[i].shape, -1, 1}, 900 + i);
    const Value& gradient = results.at(next++);
    for (std::size_t j = 0; j < u.real.size(); ++j) {
      ahead[i].real[j] += kStep * u.real[j];
      behind[i].real[j] -= kStep * u.real[j];
      along += gradient.real[j] * u.real[j];
      scale += std::fabs(gradient.real[j] * u.real[j]);
    }
  }
  const double slope = (loss_at(program, ahead) - loss_at(program, behind)) / (2 * kStep);
  EXPECT_LE(std::fabs(slope - along), 1e-6 * scale)
      << "differences give " << slope << ", grad " << along;
}

TEST_P(EveryOp, GradientMatchesFiniteDifferences) {
  const compiler::Op& op = *GetParam();
  for (const compiler::OpExample& example : op.examples()) {
    SCOPED_TRACE(example.label);
    if (op.vjp == nullptr) continue;
    const auto program = gradient_program(example);
    if (program) check_direction(*program, arguments_of(*program, example), example.inputs.size());
  }
}

TEST_P(EveryOp, GradientOnTheCpuMatchesTheInterpreter) {
  REQUIRE_PLUGIN("cpu");
  for (const compiler::OpExample& example : GetParam()->examples()) {
    SCOPED_TRACE(example.label);
    if (GetParam()->vjp == nullptr) continue;
    const auto program = gradient_program(example);
    if (!program) continue;
    const auto arguments = arguments_of(*program, example);
    expect_close(*program, run_on_cpu(*program, arguments),
                 interpret(program->graph, program->results, arguments));
  }
}

TEST_P(EveryOp, ThrowsIfItHasNoGradient) {
  const compiler::Op& op = *GetParam();
  if (op.vjp != nullptr) return;
  int refused = 0;
  for (const compiler::OpExample& example : op.examples()) {
    try {
      if (gradient_program(example))
        ADD_FAILURE() << example.label << ": grad returned a gradient, expected an error";
    } catch (const UsageError& error) {
      EXPECT_STREQ(error.what(), str("grad: ", op.name,
                                     " has no gradient\n  hint: wrap its input in "
                                     "stop_gradient")
                                     .c_str());
      ++refused;
    }
  }
  EXPECT_GT(refused, 0) << "no example has both float inputs and float results";
}

TEST(AllOps, HaveDifferentNames) {
  std::set<std::string_view> names;
  for (const compiler::Op* op : compiler::all_ops())
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
}

}  // namespace
}  // namespace smelt::testing
