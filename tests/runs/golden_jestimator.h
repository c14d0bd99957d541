// The facts of tests/golden/jestimator/ (made by tools/golden_jestimator.py with the original's
// modules).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/input_pipeline/batch.h"
#include "io/formats/safetensors.h"
#include "model/tasks/jestimator_bert_task.h"
#include "model/train_step/program.h"

namespace smelt {

class GoldenJestimator {
 public:
  explicit GoldenJestimator(std::string variant);
  static std::vector<std::string> variants() { return {"bert", "rope", "bert_rpe"}; }

  model::JestimatorBertTask settings() const;  // without dropout
  // The objective with masks of the batch, not drawn: a feature `masked`.
  model::Task task() const;
  model::TrainingConfig config() const;  // optax's Adam at a constant rate
  const Json& facts() const { return facts_["variants"][variant_]; }

  std::vector<float> values(const std::string& name) const;
  // "param/…" or "first/…" under the parameters' own names.
  io::TensorMap tensors(const std::string& prefix) const;
  // The same with zero moments.
  io::TensorMap state(const std::string& prefix = "param/") const;
  // "input" or "train/<step>": of task()'s features.
  data::Batch batch(const std::string& name) const;
  // Of the training batches 2 * index and the next, tokens alone.
  data::Batch tokens(std::int64_t index) const;

 private:
  std::string variant_;
  io::SafetensorsFile file_;
  Json facts_;
  std::vector<std::byte> zeros_;
};

}  // namespace smelt
