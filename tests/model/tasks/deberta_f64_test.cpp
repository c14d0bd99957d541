// DeBERTa in f64 against transformers in f64, and replaced-token detection against PyTorch
// (tools/golden_deberta.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/ops/ops.h"
#include "io/filesystem/file.h"
#include "io/formats/config.h"
#include "model/tasks/deberta_rtd_task.h"
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
  if (constexpr std::string_view kOwn = "deberta_generator/"; name.starts_with(kOwn)) {
    const std::string inner = name.substr(kOwn.size());
    return "generator." + name_there(inner.starts_with("lm_head/") ? inner : "deberta/" + inner);
  }
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

// Expects that the results of losses_and_gradients() are the reference's gradients times `scale`.
// `wanted` are by transformers' names.
void expect_gradients(const Parameters& parameters, const std::vector<smelt::testing::Value>& got,
                      const io::TensorMap& wanted, double scale, double limit) {
  const std::size_t first = got.size() - parameters.all().size();
  EXPECT_EQ(parameters.all().size(), wanted.size());
  for (std::size_t i = 0; i < parameters.all().size(); ++i) {
    const std::string& name = parameters.all()[i].name;
    const auto want = values_here(wanted.at(name_there(name)), name);
    double difference = 0, size = 0;
    for (std::size_t j = 0; j < want.size(); ++j) {
      difference += std::pow(got[first + i].real[j] - want[j] * scale, 2);
      size += want[j] * want[j];
    }
    EXPECT_LE(std::sqrt(difference), limit * std::sqrt(size) + 1e-12) << name;
  }
}

void add_parameters(const Parameters& parameters, const io::TensorMap& given,
                    std::vector<smelt::testing::Value>& arguments) {
  for (const Parameter& p : parameters.all())
    arguments.push_back(smelt::testing::real_value(
        p.tensor.shape(), values_here(given.at(name_there(p.name)), p.name)));
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
  add_parameters(parameters, golden.tensors("param"), arguments);
  const auto got = smelt::testing::interpret(graph, results, arguments);
  // smelt divides the masked-LM loss by the number of masked tokens + 1e-6.
  const double scale = golden.is_classifier() ? 1 : 5 / (5 + 1e-6);
  // The constants of gelu and of the scale of scores are f32 numbers in smelt's graph. The model
  // "tokens" has no gelu, and the scale 1/4.
  const double limit = std::string(GetParam()) == "tokens" ? 1e-12 : 1e-7;
  EXPECT_NEAR(got[0].real[0], golden.loss() * scale, limit);
  expect_gradients(parameters, got, golden.tensors("grad"), scale, limit);
}

// Reference of replaced-token detection: a generator with one layer and a discriminator with two.
struct GoldenRtd {
  io::SafetensorsFile file{io::read_file(source_path("tests/golden/deberta_tiny.safetensors")),
                           "f"};
  Json facts = Json::parse(io::read_file(source_path("tests/golden/deberta_tiny.json")))["rtd"];

  compiler::Tensor ints(Graph& graph, const std::string& name) const {
    const io::TensorView& view = file.at("rtd/" + name);
    std::vector<double> values;
    for (const auto x : io::tensor_values<std::int32_t>(view)) values.push_back(x);
    return compiler::constant(graph, values, view.shape);
  }
  io::TensorMap tensors(const std::string& what) const {
    io::TensorMap out;
    for (const auto& [name, view] : file.tensors())
      if (const std::string prefix = str("rtd/", what, "/"); name.starts_with(prefix))
        out[name.substr(prefix.size())] = view;
    return out;
  }
  // Returns a task without features: the batch is part of the graph.
  Task task() const {
    DebertaRtdTask c{.seq_length = 14};
    Json config = facts["config"];
    config["pos_att_type"] = "p2c|c2p";
    c.model = io::parse_config<DebertaConfig>(config, "golden");
    Task out;
    out.objective = [c, this](const Scope& root, const Inputs&) {
      Graph& graph = root.graph();
      const compiler::Tensor positions = ints(graph, "positions"), mask = ints(graph, "input_mask");
      const compiler::Tensor used =
          compare(positions, zeros_like(positions), compiler::Compare::gt);
      const MaskedInputs in{.inputs = {.input_ids = ints(graph, "input_ids"),
                                       .input_mask = mask,
                                       .segment_ids = zeros_like(mask)},
                            .masked_ids = ints(graph, "masked_ids"),
                            .masks = {.positions = positions,
                                      .ids = ints(graph, "ids"),
                                      .weights = convert(used, DType::f32)}};
      return deberta_rtd_objective(root, c, in,
                                   [&](compiler::Tensor) { return ints(graph, "sampled"); });
    };
    return out;
  }
};

// The embeddings of the generator get no gradient of the discriminator's loss.
TEST(DebertaRtdInF64, LossesAndEveryGradientMatchTheReference) {
  const GoldenRtd golden;
  const Task task = golden.task();
  Graph graph;
  Parameters parameters;
  const auto results = losses_and_gradients(task, Scope(graph, parameters), Inputs({}, {}));
  std::vector<smelt::testing::Value> arguments;
  add_parameters(parameters, golden.tensors("param"), arguments);
  const auto got = smelt::testing::interpret(graph, results, arguments);
  EXPECT_NEAR(got[1].real[0], golden.facts["masked_lm_loss"].get<double>(), 1e-5);
  EXPECT_NEAR(got[2].real[0], golden.facts["disc_loss"].get<double>(), 1e-5);
  // smelt divides the losses by the numbers of tokens + 1e-6.
  expect_gradients(parameters, got, golden.tensors("grad"), 1, 1e-6);
}

}  // namespace
}  // namespace smelt::model
