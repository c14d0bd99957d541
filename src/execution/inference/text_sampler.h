// Sample outputs of a training run: predictions for given texts at each evaluation.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/storage/slices.h"
#include "evaluation/tracking/metrics_file.h"

namespace smelt::execution {

struct TextSample {
  std::string line;           // for the log
  evaluation::Record fields;  // for metrics.jsonl
};

class TextSampler {
 public:
  virtual ~TextSampler() = default;
  // Returns the kind of the records in metrics.jsonl (docs/reference/formats/metrics.md), which is
  // also the name in TensorBoard.
  virtual std::string kind() const = 0;
  // Returns one sample for each text. `where` begins the error message if a tensor is missing.
  virtual std::vector<TextSample> sample(const checkpoint::SlicedTensors& tensors,
                                         const std::string& where) const = 0;
};

}  // namespace smelt::execution
