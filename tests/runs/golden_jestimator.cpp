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
  return read_file(source_path("tests/golden/jestimator/" + name));
}

}  // namespace

GoldenJestimator::GoldenJestimator(std::string variant)
    : variant_(std::move(variant)),
      file_(golden_file(variant_ + ".safetensors"), variant_),
      facts_(Json::parse(golden_file("facts.json"))),
      zeros_(1 << 20) {}

JestimatorBertTask GoldenJestimator::settings() const {
  JestimatorBertTask c;
  c.model = parse_config<JestimatorBertConfig>(facts()["config"], variant_);
  c.model.variant = variant_;
  c.model.attention_dropout_rate = c.model.hidden_dropout_rate = 0;
  c.settings.mask_token_id = facts_["mask_token_id"];
  return c;
}

Task GoldenJestimator::task() const {
  const JestimatorBertTask c = settings();
  Task task = jestimator_bert_task(c);
  task.draws = false;
  task.features.push_back({.name = "masked", .row = {c.model.max_length}, .limit = 2});
  task.objective = [c](const Scope& root, const Inputs& in) {
    const Tensor masked = in["masked"];
    return jestimator_objective(root, c, in["targets"],
                                compare(masked, zeros_like(masked), Compare::gt));
  };
  return task;
}

TrainingConfig GoldenJestimator::config() const {
  TrainingConfig c;
  c.batch_size = facts_["batch_size"];
  c.schedule = {.learning_rate = facts_["learning_rate"], .power = 0};
  c.optimizer = adamw({.epsilon = 1e-8, .weight_decay = 0, .bias_correction = BiasCorrection::on});
  c.clip_norm = 0;
  return c;
}

std::vector<float> GoldenJestimator::values(const std::string& name) const {
  return tensor_values<float>(file_.at(name));
}

TensorMap GoldenJestimator::tensors(const std::string& prefix) const {
  TensorMap out;
  for (const auto& [name, view] : file_.tensors())
    if (name.starts_with(prefix)) out[name.substr(prefix.size())] = view;
  return out;
}

TensorMap GoldenJestimator::state(const std::string& prefix) const {
  TensorMap out = tensors(prefix);
  for (const auto& [name, view] : tensors(prefix))
    for (const char* slot : {"/adam_m", "/adam_v"})
      out[name + slot] = {view.shape, std::span(zeros_).first(view.data.size())};
  return out;
}

Batch GoldenJestimator::batch(const std::string& name) const {
  const Features features = task().features;
  Batch batch = empty_batch(features, facts_["batch_size"]);
  for (std::size_t i = 0; i < features.size(); ++i) {
    const TensorView& view = file_.at(str(name, "/", features[i].name));
    CHECK(view.data.size() == batch.arrays[i].bytes.size(), features[i].name);
    std::ranges::copy(view.data, batch.arrays[i].bytes.begin());
  }
  return batch;
}

Batch GoldenJestimator::tokens(std::int64_t index) const {
  Batch first = batch(str("train/", 2 * index)), second = batch(str("train/", 2 * index + 1));
  first.arrays.resize(1);
  second.arrays.resize(1);
  return joined(first, second);
}

}  // namespace smelt
