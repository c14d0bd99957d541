// The facts of tests/golden/bert_tiny.* (made by tools/golden_bert.py from an independent
// implementation).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/record_source.h"
#include "format/safetensors.h"
#include "train/pretraining.h"

namespace smelt {

class GoldenBert {
 public:
  GoldenBert();

  // Batch, model, schedule and optimizer as the golden run had them.
  PretrainingConfig config() const;
  const nlohmann::json& facts() const { return facts_; }
  std::vector<float> values(const std::string& name) const;
  // "param/…" under the parameters' own names, with zero moments.
  TensorMap state() const;
  BertBatch batch(int index) const;
  // The rows of two golden batches after one another.
  BertBatch double_batch(int index) const;

 private:
  SafetensorsFile file_;
  nlohmann::json facts_;
  std::vector<std::byte> zeros_;
};

}  // namespace smelt
