// What a model makes of given texts, by one state of it after another: what a run shows of itself
// at its checks.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/storage/slices.h"
#include "evaluation/tracking/metrics_file.h"

namespace smelt {

struct TextSample {
  std::string line;  // for a person
  Record fields;     // for metrics.jsonl
};

class TextSampler {
 public:
  virtual ~TextSampler() = default;
  // Of the records in metrics.jsonl (docs/reference/formats/metrics.md), and what TensorBoard calls
  // them.
  virtual std::string kind() const = 0;
  // One for each text. `where` begins the message where the state lacks a value.
  virtual std::vector<TextSample> sample(const SlicedTensors& tensors,
                                         const std::string& where) const = 0;
};

}  // namespace smelt
