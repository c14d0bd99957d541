// The facts of tests/golden/t5_tiny.* (made by tools/golden_t5.py from transformers).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/batch.h"
#include "format/safetensors.h"
#include "step/program.h"
#include "tasks/t5_task.h"

namespace smelt {

class GoldenT5 {
 public:
  // kind: "small" (relu, tied) or "gated" (gated gelu, untied).
  explicit GoldenT5(std::string kind);

  T5Task settings() const;
  const nlohmann::json& facts() const { return facts_; }
  // Of this kind.
  std::vector<float> values(const std::string& name) const;
  TensorMap state() const;  // parameters alone
  Batch batch() const;

 private:
  std::string kind_;
  SafetensorsFile file_;
  nlohmann::json facts_;
};

}  // namespace smelt
