// Reference values of tests/golden/bert_tiny.* (tools/golden_bert.py computed them with an
// independent implementation).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/input_pipeline/batch.h"
#include "io/formats/safetensors.h"
#include "model/optim/adamw.h"
#include "model/tasks/bert_task.h"
#include "model/train_step/program.h"

namespace smelt {

class GoldenBert {
 public:
  GoldenBert();

  // Return the model, lengths, optimizer and schedule of the golden run.
  model::BertTask task() const;
  model::AdamW optimizer() const;
  model::TrainingConfig config() const;
  const Json& facts() const { return facts_; }
  std::vector<float> values(const std::string& name) const;
  // Returns the parameters ("param/…") by their names, and zero moments.
  io::TensorMap state() const;
  // The arrays are in the order of the task's features.
  data::Batch batch(int index) const;
  // Returns the rows of the golden batches 2 * index and 2 * index + 1.
  data::Batch double_batch(int index) const;

 private:
  io::SafetensorsFile file_;
  Json facts_;
  std::vector<std::byte> zeros_;
};

// Returns the rows of both batches.
data::Batch joined(data::Batch batch, const data::Batch& more);

}  // namespace smelt
