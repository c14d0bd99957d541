// The facts of tests/golden/bert_tiny.* (made by tools/golden_bert.py from an independent
// implementation).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/batch.h"
#include "format/safetensors.h"
#include "optim/adamw.h"
#include "step/program.h"
#include "tasks/bert_task.h"

namespace smelt {

class GoldenBert {
 public:
  GoldenBert();

  // Model, lengths, schedule and optimizer as the golden run had them.
  BertTask task() const;
  AdamW optimizer() const;
  TrainingConfig config() const;
  const Json& facts() const { return facts_; }
  std::vector<float> values(const std::string& name) const;
  // "param/…" under the parameters' own names, with zero moments.
  TensorMap state() const;
  // In the order of the task's features.
  Batch batch(int index) const;
  // The rows of two golden batches after one another.
  Batch double_batch(int index) const;

 private:
  SafetensorsFile file_;
  Json facts_;
  std::vector<std::byte> zeros_;
};

// The rows of both.
Batch joined(Batch batch, const Batch& more);
// Rows [first, last) of a batch.
Batch rows_of(const Batch& batch, std::int64_t first, std::int64_t last);

}  // namespace smelt
