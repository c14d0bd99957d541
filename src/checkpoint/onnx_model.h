// A fine-tuned BERT or ELECTRA as an ONNX file: docs/formats/onnx.md.
#pragma once

#include <cstdint>
#include <string>

namespace smelt {

struct OnnxModel {
  std::string from, problem;  // the checkpoint or folder itself; "single_label", …
  std::uint64_t bytes = 0;
};

// Converts what a run has exported, or any model that open_stored_model() opens. Moving averages
// replace their weights. int8 weights stay int8, with the integer matmuls that smelt computes; int4
// weights become floats, with a warning. Reads one tensor at a time. UsageError if the model is not
// a fine-tuned encoder or is too large for one file, or if `to` exists already.
OnnxModel write_onnx_model(const std::string& from, const std::string& to);

}  // namespace smelt
