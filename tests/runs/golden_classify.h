// The facts of tests/golden/classify_tiny.* (made by tools/golden_classify.py from transformers).
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
  // kind: "bert", "electra", or with heads of words "bert-tokens" or "electra-tokens", or of
  // answers "bert-spans" or "electra-spans".
  explicit GoldenClassify(std::string kind);

  bool of_tokens() const { return kind_.ends_with("-tokens"); }
  bool of_answers() const { return kind_.ends_with("-spans"); }
  // Of classes "a", "b", "c", or a regression by the first of the three outputs; of words always
  // token_labels, of answers answer_spans, which a question may lack; no dropout.
  model::ClassifyTask settings(io::Problem problem = io::Problem::single_label) const;
  const Json& facts() const { return facts_; }
  std::vector<float> values(const std::string& name) const;
  io::TensorMap state(io::Problem problem = io::Problem::single_label) const;
  data::Batch batch(io::Problem problem = io::Problem::single_label) const;
  // As a Hugging Face folder, with a vocabulary of the special tokens, "cat", "dog", "bird" and
  // words of no meaning.
  void write_folder(const std::string& folder) const;

 private:
  std::string kind_;
  io::SafetensorsFile file_;
  Json facts_;
  mutable std::vector<std::vector<float>> first_outputs_;  // what the state of a regression views
};

}  // namespace smelt
