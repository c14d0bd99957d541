// Reference values of four tiny ModernBERTs in tests/golden/modernbert_tiny.*
// (tools/golden_modernbert.py computed them with transformers).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/interop/stored_model.h"
#include "data/input_pipeline/batch.h"
#include "io/formats/safetensors.h"
#include "model/tasks/classify_task.h"

namespace smelt {

class GoldenModernbert {
 public:
  static constexpr std::int64_t kLength = 10, kVocab = 29;

  // kind: "words" (masked language model), "texts", "tokens" or "spans" (classifiers).
  explicit GoldenModernbert(std::string kind);

  // Returns the tokenizer.json of a byte-level BPE with ModernBERT's special tokens, kVocab tokens
  // and one merge, "ab".
  static std::string tokenizer_text();

  bool is_classifier() const { return kind_ != "words"; }
  double loss() const { return facts_["loss"]; }
  Json config() const { return facts_["config"]; }
  std::vector<float> values(const std::string& name) const;
  // Returns the parameters ("param") or gradients ("grad") by transformers' names.
  io::TensorMap tensors(const std::string& what) const;
  // Writes a Hugging Face folder with these tensors.
  void write(const std::string& folder, const io::TensorMap& tensors, const Json& config) const;
  // Writes a Hugging Face folder with the parameters or gradients, and reads it.
  checkpoint::StoredModel stored(const std::string& folder, const std::string& what) const;
  io::Labels labels() const;
  // Returns the task. The pre-training task has the golden masks instead of drawing its own.
  model::Task task(const model::Encoder& encoder) const;
  data::Batch batch(const io::Features& features) const;
  // Returns the inputs of tools/check_onnx.py.
  io::TensorMap inputs() const;

 private:
  std::string kind_;
  io::SafetensorsFile file_;
  Json facts_;
};

}  // namespace smelt
