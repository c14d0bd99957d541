// Reference values of four tiny models of an encoder family in tests/golden/<family>_tiny.*, which
// tools/golden_<family>.py computed with transformers.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/interop/stored_model.h"
#include "data/input_pipeline/batch.h"
#include "io/formats/safetensors.h"
#include "model/tasks/classify_task.h"

namespace smelt {

class GoldenEncoder {
 public:
  // kind: "words" (masked language model), "texts", "tokens" or "spans" (classifiers). `length` is
  // the number of tokens in a row; `tokenizer` is the content of the folder's tokenizer.json.
  GoldenEncoder(const std::string& family, std::string kind, std::int64_t length,
                std::int64_t vocab_size, std::string tokenizer);

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
  // Saves the parameters as a smelt checkpoint in `run` and exports them to `to`. The folder
  // "given" beside `run` gets the Hugging Face folder that they are read from.
  void export_folder(const std::string& run, const std::string& to) const;
  io::Labels labels() const;
  // Returns the task. The pre-training task has the golden masks instead of drawing its own.
  model::Task task(const model::Encoder& encoder) const;
  data::Batch batch(const io::Features& features) const;
  // Returns the inputs of tools/check_onnx.py.
  io::TensorMap inputs() const;

 private:
  std::string family_, kind_;
  std::int64_t length_, vocab_size_;
  std::string tokenizer_;
  io::SafetensorsFile file_;
  Json facts_;
};

}  // namespace smelt
