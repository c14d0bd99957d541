// The facts of tests/golden/t5_tiny.* (made by tools/golden_t5.py from transformers).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/input_pipeline/batch.h"
#include "io/formats/safetensors.h"
#include "model/tasks/t5_task.h"
#include "model/train_step/program.h"

namespace smelt {

// A SentencePiece model of so many pieces, for sentinels on top: of "a bad cab" and the like.
inline constexpr std::int64_t kGoldenT5Pieces = 12, kGoldenT5Sentinels = 20;
std::string golden_t5_vocabulary();

class GoldenT5 {
 public:
  // kind: "small" (relu, tied) or "gated" (gated gelu, untied).
  explicit GoldenT5(std::string kind);

  model::T5Task settings() const;
  const Json& facts() const { return facts_; }
  // Of this kind.
  std::vector<float> values(const std::string& name) const;
  io::TensorMap state() const;  // parameters alone
  data::Batch batch() const;
  // As a Hugging Face folder, with the vocabulary below and its sentinels.
  void write_folder(const std::string& folder) const;

 private:
  std::string kind_;
  io::SafetensorsFile file_;
  Json facts_;
};

}  // namespace smelt
