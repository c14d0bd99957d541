// The facts of tests/golden/bert_tiny.* (made by tools/golden_bert.py from an independent
// implementation).
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

  // Model, lengths, schedule and optimizer as the golden run had them.
  model::BertTask task() const;
  model::AdamW optimizer() const;
  model::TrainingConfig config() const;
  const Json& facts() const { return facts_; }
  std::vector<float> values(const std::string& name) const;
  // "param/…" under the parameters' own names, with zero moments.
  io::TensorMap state() const;
  // In the order of the task's features.
  data::Batch batch(int index) const;
  // The rows of two golden batches after one another.
  data::Batch double_batch(int index) const;

 private:
  io::SafetensorsFile file_;
  Json facts_;
  std::vector<std::byte> zeros_;
};

// The rows of both.
data::Batch joined(data::Batch batch, const data::Batch& more);
// Rows [first, last) of a batch.
data::Batch rows_of(const data::Batch& batch, std::int64_t first, std::int64_t last);

}  // namespace smelt
