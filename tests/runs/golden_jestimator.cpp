#include "runs/golden_jestimator.h"

#include <algorithm>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/filesystem/file.h"
#include "io/formats/config.h"
#include "model/optim/adamw.h"
#include "runs/golden_bert.h"
#include "support/paths.h"

namespace smelt {
namespace {

std::string golden_file(const std::string& name) {
  return io::read_file(source_path("tests/golden/jestimator/" + name));
}

}  // namespace

GoldenJestimator::GoldenJestimator(std::string variant)
    : variant_(std::move(variant)),
      file_(golden_file(variant_ + ".safetensors"), variant_),
      facts_(Json::parse(golden_file("facts.json"))),
      zeros_(1 << 20) {}

model::JestimatorBertTask GoldenJestimator::settings() const {
  model::JestimatorBertTask c;
  c.model = io::parse_config<model::JestimatorBertConfig>(facts()["config"], variant_);
  c.model.variant = variant_;
  c.model.attention_dropout_rate = c.model.hidden_dropout_rate = 0;
  c.settings.mask_token_id = facts_["mask_token_id"];
  return c;
}

model::Task GoldenJestimator::task() const {
  const model::JestimatorBertTask c = settings();
  model::Task task = model::jestimator_bert_task(c);
  task.draws = false;
  task.features.push_back({.name = "masked", .row = {c.model.max_length}, .limit = 2});
  task.objective = [c](const model::Scope& root, const model::Inputs& in) {
    const compiler::Tensor masked = in["masked"];
    return model::jestimator_objective(
        root, c, in["targets"],
        compiler::compare(masked, compiler::zeros_like(masked), compiler::Compare::gt));
  };
  return task;
}

model::TrainingConfig GoldenJestimator::config() const {
  model::TrainingConfig c;
  c.batch_size = facts_["batch_size"];
  c.schedule = {.learning_rate = facts_["learning_rate"], .power = 0};
  c.optimizer = model::adamw(
      {.epsilon = 1e-8, .weight_decay = 0, .bias_correction = model::BiasCorrection::on});
  c.clip_norm = 0;
  return c;
}

std::vector<float> GoldenJestimator::values(const std::string& name) const {
  return io::tensor_values<float>(file_.at(name));
}

io::TensorMap GoldenJestimator::tensors(const std::string& prefix) const {
  io::TensorMap out;
  for (const auto& [name, view] : file_.tensors())
    if (name.starts_with(prefix)) out[name.substr(prefix.size())] = view;
  return out;
}

io::TensorMap GoldenJestimator::state(const std::string& prefix) const {
  io::TensorMap out = tensors(prefix);
  for (const auto& [name, view] : tensors(prefix))
    for (const char* slot : {"/adam_m", "/adam_v"})
      out[name + slot] = {view.shape, std::span(zeros_).first(view.data.size())};
  return out;
}

data::Batch GoldenJestimator::batch(const std::string& name) const {
  const io::Features features = task().features;
  data::Batch batch = data::empty_batch(features, facts_["batch_size"]);
  for (std::size_t i = 0; i < features.size(); ++i) {
    const io::TensorView& view = file_.at(str(name, "/", features[i].name));
    CHECK(view.data.size() == batch.arrays[i].bytes.size(), features[i].name);
    std::ranges::copy(view.data, batch.arrays[i].bytes.begin());
  }
  return batch;
}

data::Batch GoldenJestimator::tokens(std::int64_t index) const {
  data::Batch first = batch(str("train/", 2 * index)), second = batch(str("train/", 2 * index + 1));
  first.arrays.resize(1);
  second.arrays.resize(1);
  return joined(first, second);
}

}  // namespace smelt
