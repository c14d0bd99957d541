// Reference values of tests/golden/electra_tiny.* (tools/golden_electra.py computed them with the
// original program).
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
  explicit GoldenElectra(std::string name);  // name of a case: "electra", "electric", …
  static std::vector<std::string> cases();

  model::ElectraTask settings() const;
  // Returns the task, which takes masks and samples from the batch instead of drawing them.
  model::Task task() const;
  model::TrainingConfig config() const;  // the original's optimizer and schedule
  const Json& facts() const { return facts_["cases"][name_]; }

  bool has(const std::string& name) const;
  std::vector<float> values(const std::string& name) const;
  std::vector<std::int32_t> whole_values(const std::string& name) const;
  // Returns the parameters ("param/…") by their names, and zero moments.
  io::TensorMap state() const;
  std::int64_t batches() const;
  data::Batch batch(std::int64_t index) const;  // has the features of task()
  data::Batch batch(std::int64_t index, const io::Features& features) const;
  // Returns the batch with the tokens that the generator sampled in this step of the golden run.
  data::Batch training_batch(std::int64_t index) const;
  // Returns the tokens of batches 2 * index and 2 * index + 1, without masks and samples.
  data::Batch tokens(std::int64_t index) const;

 private:
  std::string name_;
  io::SafetensorsFile file_;
  Json facts_;
  std::vector<std::byte> zeros_;
};

}  // namespace smelt
