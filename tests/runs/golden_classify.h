// Reference values of tests/golden/classify_tiny.* (tools/golden_classify.py computed them with
// transformers).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/input_pipeline/batch.h"
#include "io/formats/safetensors.h"
#include "model/tasks/classify_task.h"

namespace smelt {

class GoldenClassify {
 public:
  // kind: "bert" or "electra"; with a head for token labels "bert-tokens" or "electra-tokens"; with
  // a head for answer spans "bert-spans" or "electra-spans".
  explicit GoldenClassify(std::string kind);

  bool of_tokens() const { return kind_.ends_with("-tokens"); }
  bool of_answers() const { return kind_.ends_with("-spans"); }
  // Returns a task without dropout: the classes "a", "b", "c", or a regression that uses only the
  // first of the three outputs. "-tokens" always has token_labels, and "-spans" always answer_spans
  // with questions that may have no answer.
  model::ClassifyTask settings(io::Problem problem = io::Problem::single_label) const;
  const Json& facts() const { return facts_; }
  std::vector<float> values(const std::string& name) const;
  io::TensorMap state(io::Problem problem = io::Problem::single_label) const;
  data::Batch batch(io::Problem problem = io::Problem::single_label) const;
  // Writes a Hugging Face folder. Its vocabulary contains the special tokens, "cat", "dog", "bird"
  // and meaningless words.
  void write_folder(const std::string& folder) const;

 private:
  std::string kind_;
  io::SafetensorsFile file_;
  Json facts_;
  mutable std::vector<std::vector<float>> first_outputs_;  // storage of state() for a regression
};

}  // namespace smelt
