// DeBERTa in f64 against transformers in f64 (tools/golden_deberta.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/evaluate.h"
#include "runs/golden_deberta.h"
#include "runs/probe.h"
#include "support/paths.h"

namespace smelt::model {

using compiler::DType;
using compiler::Graph;
namespace {

// Returns transformers' name of a parameter.
std::string name_there(std::string name) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    if (const auto at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  };
  replace("lm_head/output_bias", "cls/predictions/bias");
  replace("lm_head/", "cls/predictions/transform/");
  replace("classifier/dense/", "pooler/dense/");
  replace("classifier/out_proj/", "classifier/");
  replace("layer_", "layer/");
  replace("/kernel", "/weight");
  replace("/gamma", "/weight");
  replace("/beta", "/bias");
  if (name.ends_with("_embeddings")) name += "/weight";
  std::ranges::replace(name, '/', '.');
  return name;
}

// Returns the values of a tensor of transformers in the layout of smelt's parameter `name`.
std::vector<double> values_here(const io::TensorView& view, const std::string& name) {
  std::vector<double> out;
  if (view.shape.dtype == DType::f64)
    out = io::tensor_values<double>(view);
  else
    for (const float x : io::tensor_values<float>(view)) out.push_back(x);
  if (!name.ends_with("/kernel")) return out;
  const auto rows = static_cast<std::size_t>(view.shape.dims[0]), columns = out.size() / rows;
  std::vector<double> turned(out.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) turned[c * rows + r] = out[r * columns + c];
  return turned;
}

class DebertaInF64 : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, DebertaInF64,
                         ::testing::Values("words", "texts", "tokens", "spans"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(DebertaInF64, LossAndEveryGradientMatchTheReference) {
  const GoldenDeberta golden(GetParam());
  const TempDir dir;
  const Task task = golden.task(
      parse_encoder("deberta", golden.stored(dir.file("given"), "param").config, "golden"));
  Graph graph;
  std::vector<compiler::Tensor> inputs;
  std::vector<smelt::testing::Value> arguments;
  for (const data::HostArray& array : golden.batch(task.features).arrays) {
    inputs.push_back(graph.argument(array.shape));
    arguments.push_back(smelt::testing::from_bytes(array.shape, array.bytes));
  }
  Parameters parameters;
  const auto results =
      losses_and_gradients(task, Scope(graph, parameters), Inputs(task.features, inputs));
  const io::TensorMap given = golden.tensors("param"), gradients = golden.tensors("grad");
  for (const Parameter& p : parameters.all())
    arguments.push_back(smelt::testing::real_value(
        p.tensor.shape(), values_here(given.at(name_there(p.name)), p.name)));
  const auto got = smelt::testing::interpret(graph, results, arguments);
  // smelt divides the masked-LM loss by the number of masked tokens + 1e-6.
  const double scale = golden.is_classifier() ? 1 : 5 / (5 + 1e-6);
  // The constants of gelu and of the scale of scores are f32 numbers in smelt's graph. The model
  // "tokens" has no gelu, and the scale 1/4.
  const double limit = std::string(GetParam()) == "tokens" ? 1e-12 : 1e-7;
  EXPECT_NEAR(got[0].real[0], golden.loss() * scale, limit);
  const std::size_t first = results.size() - parameters.all().size();
  EXPECT_EQ(parameters.all().size(), gradients.size());
  for (std::size_t i = 0; i < parameters.all().size(); ++i) {
    const std::string& name = parameters.all()[i].name;
    const auto want = values_here(gradients.at(name_there(name)), name);
    double difference = 0, size = 0;
    for (std::size_t j = 0; j < want.size(); ++j) {
      difference += std::pow(got[first + i].real[j] - want[j] * scale, 2);
      size += want[j] * want[j];
    }
    EXPECT_LE(std::sqrt(difference), limit * std::sqrt(size) + 1e-12) << name;
  }
}

}  // namespace
}  // namespace smelt::model
