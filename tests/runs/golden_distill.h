// Reference values of tests/golden/distill_tiny.* (tools/golden_distill.py computed them with
// transformers).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/input_pipeline/batch.h"
#include "io/formats/safetensors.h"
#include "model/tasks/distill.h"

namespace smelt {

class GoldenDistill {
 public:
  // name: "texts", "wide", "several", "numbers", "tokens", "spans", "words" or "answers".
  explicit GoldenDistill(std::string name);

  const Json& facts() const { return facts_; }
  // Returns the distillation task. The teacher's configuration has dropout 0.5, which must not be
  // applied.
  model::Task task() const;
  model::Task student() const;
  model::Teacher teacher() const;
  model::Distillation settings() const;
  data::Batch batch(const io::Features& features) const;
  // `of` is "student", "teacher" or "grad".
  io::TensorMap tensors(const std::string& of) const;

 private:
  std::string name_;
  io::SafetensorsFile file_;
  Json facts_;
};

}  // namespace smelt
