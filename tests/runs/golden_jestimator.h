// Reference values of tests/golden/jestimator/ (tools/golden_jestimator.py computed them with the
// original's modules).
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
  // Returns the task, which takes its masks from the feature `masked` of the batch instead of
  // drawing them.
  model::Task task() const;
  model::TrainingConfig config() const;  // optax's Adam at a constant rate
  const Json& facts() const { return facts_["variants"][variant_]; }

  std::vector<float> values(const std::string& name) const;
  // Returns the tensors whose names begin with `prefix` ("param/" or "first/"), without the prefix.
  io::TensorMap tensors(const std::string& prefix) const;
  // Returns the same tensors and zero moments.
  io::TensorMap state(const std::string& prefix = "param/") const;
  // name: "input" or "train/<step>". The batch has the features of task().
  data::Batch batch(const std::string& name) const;
  // Returns only the tokens of the training batches 2 * index and 2 * index + 1.
  data::Batch tokens(std::int64_t index) const;

 private:
  std::string variant_;
  io::SafetensorsFile file_;
  Json facts_;
  std::vector<std::byte> zeros_;
};

}  // namespace smelt
