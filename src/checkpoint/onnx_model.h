// A fine-tuned BERT or ELECTRA as an ONNX file: docs/formats/onnx.md.
#pragma once

#include <cstdint>
#include <string>

namespace smelt {

struct OnnxModel {
  std::string from, problem;  // the checkpoint or folder itself; "single_label", …
  std::uint64_t bytes = 0;
};

// Takes what a run has exported, or what open_stored_model() opens. Moving averages take the place
// of their weights. Codes of eight bits stay codes, and products of integers are those that smelt
// computes; codes of four bits become floats, with a warning. Reads one tensor at a time.
// UsageError for what is no fine-tuned encoder, for a model that one file cannot hold, and where
// `to` is there already.
OnnxModel write_onnx_model(const std::string& from, const std::string& to);

}  // namespace smelt
