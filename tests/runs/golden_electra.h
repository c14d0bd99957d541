// The facts of tests/golden/electra_tiny.* (made by tools/golden_electra.py with the original
// program).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/input_pipeline/batch.h"
#include "io/formats/safetensors.h"
#include "model/tasks/electra_task.h"
#include "model/train_step/program.h"

namespace smelt {

class GoldenElectra {
 public:
  explicit GoldenElectra(std::string name);  // of a case: "electra", "electric", …
  static std::vector<std::string> cases();

  model::ElectraTask settings() const;
  // The objective with masks and samples of the batch, not drawn.
  model::Task task() const;
  model::TrainingConfig config() const;  // the original's optimizer and schedule
  const Json& facts() const { return facts_["cases"][name_]; }

  bool has(const std::string& name) const;
  std::vector<float> values(const std::string& name) const;
  std::vector<std::int32_t> whole_values(const std::string& name) const;
  // "param/…" under the parameters' own names, with zero moments.
  io::TensorMap state() const;
  std::int64_t batches() const;
  data::Batch batch(std::int64_t index) const;  // of task()'s features
  data::Batch batch(std::int64_t index, const io::Features& features) const;
  // With what was sampled in that step of the golden run.
  data::Batch training_batch(std::int64_t index) const;
  // The tokens alone of batches 2 * index and the next.
  data::Batch tokens(std::int64_t index) const;

 private:
  std::string name_;
  io::SafetensorsFile file_;
  Json facts_;
  std::vector<std::byte> zeros_;
};

}  // namespace smelt
