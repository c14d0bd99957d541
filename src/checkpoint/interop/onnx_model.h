// BERT, ELECTRA and T5 models as ONNX files: docs/reference/formats/onnx.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::checkpoint {

// The task of an encoder's ONNX file. `automatic`: the head of a fine-tuned model; else the
// masked-language-model head of a BERT or of an ELECTRA generator, if there is one; else the last
// hidden states.
enum class OnnxTask { automatic, fill_mask, feature_extraction };

// The result of an export to ONNX.
struct OnnxModel {
  std::string from;  // the checkpoint or folder that was exported
  std::string task;  // "single_label", "fill-mask", "feature-extraction", "text2text-generation"…
  std::vector<std::string> files;  // names of the ONNX files
  std::uint64_t bytes = 0;         // their total size
};

// Writes one file. `from` is a run folder with an exported model, or any model that
// open_stored_model() opens. If the model has moving averages of weights, writes these instead of
// the weights. int8 weights stay int8, with the integer matmuls that
// smelt computes; int4 weights become floats, with a warning. Reads one tensor at a time. Throws
// UsageError if the model is a T5, which takes several files, if it lacks the part that computes
// the task, if it is too large for one file, or if `to` exists already.
OnnxModel write_onnx_model(const std::string& from, const std::string& to,
                           OnnxTask task = OnnxTask::automatic);

// Writes a new folder from a Hugging Face folder: model.onnx, or for a T5 encoder_model.onnx,
// decoder_model.onnx and decoder_with_past_model.onnx, with config.json and the tokenizer's files.
// Throws UsageError in the same cases as write_onnx_model().
OnnxModel write_onnx_folder(const std::string& from, const std::string& to,
                            OnnxTask task = OnnxTask::automatic);

}  // namespace smelt::checkpoint
