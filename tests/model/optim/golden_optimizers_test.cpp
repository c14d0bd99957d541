// Amos compared with JEstimator's amos.py, Adam and AdamW with optax (tools/golden_amos.py), LAMB
// and schedules with optax (tools/golden_optax.py), Adafactor with T5X, transformers and optax
// (tools/golden_adafactor.py), StableAdamW with torch-optimi (tools/golden_stable_adamw.py).
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/json.h"
#include "compiler/ops/ops.h"
#include "compiler/stablehlo/writer.h"
#include "io/filesystem/file.h"
#include "io/formats/safetensors.h"
#include "model/optim/adafactor.h"
#include "model/optim/adamw.h"
#include "model/optim/amos.h"
#include "model/optim/lamb.h"
#include "model/optim/schedule.h"
#include "model/optim/stable_adamw.h"
#include "pjrt/executable.h"
#include "reference/evaluate.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::Dims;
using compiler::DType;
using compiler::emit_module;
using compiler::Graph;
using compiler::Program;
using compiler::Shape;
using compiler::Tensor;
namespace {

constexpr double kSame = 1e-6;  // relative to the norm of a tensor

using Values = std::map<std::string, std::vector<float>>;

Optimizer adafactor_of(const Json& c) {
  const bool transformers = c["program"] == "transformers";
  return adafactor(
      {.decay_rate = c["decay_rate"],
       .clip_threshold = c["clip"],
       .parameter_scale = c["parameter_scale"],
       .momentum = c["momentum"],
       .weight_decay = c["weight_decay"],
       .decay = transformers ? Adafactor::Decay::by_rate : Adafactor::Decay::by_step,
       .factored = transformers ? Adafactor::Factored::last : Adafactor::Factored::largest,
       .least_factored = c["least"]});
}

struct Golden {
  explicit Golden(const std::string& made)
      : file(io::read_file(source_path(str("tests/golden/", made, ".safetensors"))), made),
        facts(Json::parse(io::read_file(source_path(str("tests/golden/", made, ".json"))))) {}

  io::SafetensorsFile file;
  Json facts;

  // Returns the values whose names begin with the prefix, which is removed.
  Values values(const std::string& prefix) const {
    Values out;
    for (const auto& [name, view] : file.tensors())
      if (name.starts_with(prefix))
        out[name.substr(prefix.size())] = io::tensor_values<float>(view);
    return out;
  }
  Dims dims(const std::string& name) const { return file.at(name).shape.dims; }

  NameRules rules(const char* field) const {
    std::vector<NameRule> out;
    for (const auto& rule : facts[field]) out.push_back({rule[0], rule[1]});
    return {field, out};
  }

  Optimizer optimizer(const Json& c) const {
    if (c.contains("program")) return adafactor_of(c);
    if (c["optimizer"] == "amos")
      return amos({.eta = rules("eta"),
                   .slot_shape = rules("slots"),
                   .beta = c["beta"],
                   .momentum = c["momentum"],
                   .clip_value = c["clip_value"],
                   .extra_l2 = c["extra_l2"],
                   .c_coef = c["c_coef"],
                   .d_coef = c["d_coef"]});
    const AdamW adam{.beta1 = c["momentum"],
                     .beta2 = c["beta"],
                     .epsilon = c.value("epsilon", 1e-8),
                     .weight_decay = c.value("weight_decay", 0.0),
                     .bias_correction = BiasCorrection::on,
                     .decay_of = DecayOf::all};
    if (c["optimizer"] == "stable_adamw") return stable_adamw(adam);
    return c["optimizer"] == "lamb" ? lamb({.adam = adam}) : adamw(adam);
  }
};

Schedule schedule_of_case(const Json& c) {
  if (!c.contains("warmup_steps"))
    return {.learning_rate = c["learning_rate"], .decay = Decay::constant};
  return {.learning_rate = c["learning_rate"],
          .warmup_steps = c["warmup_steps"],
          .warmup = Warmup::multiplies,
          .decay = Decay::after_warmup,
          .decay_to_step = c["decay_to_step"]};
}

// One update of all parameters. Arguments: the step, its learning rate, the tensors in `names`, the
// gradients. Results: the tensors in `names`.
struct UpdateProgram {
  Program program;
  std::vector<std::string> names, parameters;
  std::vector<Dims> dims;
  std::int64_t first_step = 0;
};

UpdateProgram update_program(const Golden& golden, const Json& c) {
  UpdateProgram out;
  Graph& graph = out.program.graph;
  const Optimizer optimizer = golden.optimizer(c);
  out.first_step = optimizer.first_step;
  const Tensor step = graph.argument({DType::s32, {}}), rate = graph.argument({DType::f32, {}});
  const OptimizerStep at{.rate = rate, .step = step};
  struct Taken {
    Parameter parameter;
    std::vector<Tensor> slots;
  };
  std::vector<Taken> taken;
  const auto argument = [&](const std::string& name, const Dims& dims) {
    out.names.push_back(name);
    out.dims.push_back(dims);
    return graph.argument({DType::f32, dims});
  };
  for (const auto& [name, value] : golden.values("start/")) {
    out.parameters.push_back(name);
    Taken& t = taken.emplace_back();
    t.parameter = {
        .name = name, .tensor = argument(name, golden.dims("start/" + name)), .init = {}};
    for (const Slot& slot : optimizer.slots(t.parameter))
      t.slots.push_back(argument(str(name, "/", slot.name), slot.dims));
  }
  for (const Taken& t : taken) {
    const Tensor gradient = graph.argument(t.parameter.tensor.shape());
    const UpdatedParameter next = optimizer.update(at, t.parameter, t.slots, gradient);
    out.program.results.push_back(next.value);
    for (const Tensor& slot : next.slots) out.program.results.push_back(slot);
  }
  return out;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want,
                 const std::string& name) {
  ASSERT_EQ(got.size(), want.size()) << name;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += std::pow(static_cast<double>(got[i]) - want[i], 2);
    norm += std::pow(static_cast<double>(want[i]), 2);
  }
  EXPECT_LE(std::sqrt(difference), kSame * std::sqrt(norm)) << name;
}

const char* file_of(const std::string& name) {
  if (name == "lamb") return "optax";
  if (name == "stable_adamw") return "stable_adamw";
  const bool adam = name.starts_with("optax_");
  return name.starts_with("amos") || adam ? "amos" : "adafactor";
}

class GoldenOptimizers : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenOptimizers, MatchTheOriginalsAtEveryStep) {
  SMELT_OPEN_CPU(client, 1);
  const std::string name = GetParam();
  const Golden golden(file_of(name));
  const Json& c = golden.facts["cases"].at(name);
  const UpdateProgram update = update_program(golden, c);
  const pjrt::Executable executable = client->compile(emit_module(update.program, "update"));
  Values state = golden.values("start/");
  std::size_t compared = 0;
  for (int step = 0; step < c["steps"]; ++step) {
    std::vector<pjrt::Buffer> buffers;
    buffers.push_back(pjrt::to_device<std::int32_t>(*client, {step}, {DType::s32, {}}));
    const float rate = learning_rate(schedule_of_case(c), step + update.first_step);
    buffers.push_back(pjrt::to_device<float>(*client, {rate}, {DType::f32, {}}));
    for (std::size_t i = 0; i < update.names.size(); ++i) {
      const Shape shape{DType::f32, update.dims[i]};
      auto& values = state[update.names[i]];  // slots start at zero
      values.resize(static_cast<std::size_t>(shape.elements()));
      buffers.push_back(pjrt::to_device<float>(*client, values, shape));
    }
    for (const std::string& parameter : update.parameters) {
      const auto gradient = str("gradient/", step, "/", parameter);
      buffers.push_back(pjrt::to_device<float>(*client,
                                               io::tensor_values<float>(golden.file.at(gradient)),
                                               {DType::f32, golden.dims(gradient)}));
    }
    std::vector<const pjrt::Buffer*> arguments;
    for (const pjrt::Buffer& buffer : buffers) arguments.push_back(&buffer);
    const pjrt::Execution run = executable.execute({arguments});
    for (std::size_t i = 0; i < update.names.size(); ++i)
      state[update.names[i]] = run.results[0][i].to_host<float>();
    for (const auto& [tensor, want] : golden.values(str(name, "/", step + 1, "/"))) {
      expect_near(state[tensor], want, str(tensor, " after step ", step + 1));
      ++compared;
    }
  }
  EXPECT_GE(compared, 3 * (update.parameters.size() - 1));
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenOptimizers,
                         ::testing::Values("amos", "amos_plain", "optax_adamw", "optax_adam",
                                           "lamb", "stable_adamw", "t5x", "t5x_momentum",
                                           "transformers", "transformers_momentum", "optax"));

Schedule golden_schedule(const Json& facts, const std::string& name) {
  Schedule out{.learning_rate = facts["learning_rate"],
               .warmup_steps = facts["warmup_steps"],
               .total_steps = facts["total_steps"],
               .warmup = Warmup::precedes};
  if (name.starts_with("polynomial")) out.power = 2, out.end = 0.2;
  if (name.ends_with("_multiplies")) out.warmup = Warmup::multiplies;
  if (name.ends_with("_replaces")) out.warmup = Warmup::replaces;
  if (name == "constant") out.decay = Decay::constant;
  if (name == "cosine") out.decay = Decay::cosine, out.end = 0.1;
  if (name == "wsd") out.decay = Decay::last_steps, out.decay_steps = 20, out.end = 0.05;
  return out;
}

TEST(GoldenSchedules, MatchOptax) {
  const Json facts = Golden("optax").facts;
  EXPECT_EQ(facts["schedules"].size(), 7u);
  for (const auto& [name, rates] : facts["schedules"].items()) {
    const Schedule schedule = golden_schedule(facts, name);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const std::int64_t step = facts["steps"][i];
      EXPECT_NEAR(learning_rate(schedule, step), rates[i].get<double>(), 2e-9)
          << name << " at step " << step;
    }
  }
}

}  // namespace
}  // namespace smelt::model
