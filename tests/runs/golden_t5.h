// Reference values of tests/golden/t5_tiny.* (tools/golden_t5.py computed them with transformers).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/input_pipeline/batch.h"
#include "io/formats/safetensors.h"
#include "model/tasks/t5_task.h"
#include "model/train_step/program.h"

namespace smelt {

// A SentencePiece model with kGoldenT5Pieces pieces, trained on texts such as "a bad bed, a dab
// cab". The sentinels are appended to it.
inline constexpr std::int64_t kGoldenT5Pieces = 12, kGoldenT5Sentinels = 20;
std::string golden_t5_vocabulary();

class GoldenT5 {
 public:
  // kind: "small" (relu, tied) or "gated" (gated gelu, untied).
  explicit GoldenT5(std::string kind);

  model::T5Task settings() const;
  const Json& facts() const { return facts_; }
  // Returns the tensor `name` of this kind.
  std::vector<float> values(const std::string& name) const;
  io::TensorMap state() const;  // parameters only
  data::Batch batch() const;
  // Writes a Hugging Face folder with golden_t5_vocabulary() and its sentinels.
  void write_folder(const std::string& folder) const;

 private:
  std::string kind_;
  io::SafetensorsFile file_;
  Json facts_;
};

}  // namespace smelt
