// Exports encoders (BERT, ELECTRA, RoBERTa, ModernBERT) and T5 to ONNX files. Format:
// docs/reference/formats/onnx.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::checkpoint {

// Selects what the ONNX file of an encoder computes. `automatic`: the outputs of the head of a
// fine-tuned model; the embeddings of an embedding model; the outputs of a masked-language-model
// head, except for an ELECTRA with a discriminator; the last hidden states of any other model.
enum class OnnxTask { automatic, fill_mask, feature_extraction };

// The result of an export to ONNX.
struct OnnxModel {
  std::string from;  // the checkpoint or folder that was exported
  std::string task;  // "single_label", "fill-mask", "feature-extraction", "text2text-generation"…
  std::vector<std::string> files;  // names of the ONNX files
  std::uint64_t bytes = 0;         // their total size
};

// Exports a model to one ONNX file. `from` is a run folder with an exported model, or any model
// that open_stored_model() opens. If the model has moving averages of weights, writes these instead
// of the weights. int8 weights stay int8 and are used in integer matmuls, as in smelt; int4 weights
// become floats, with a warning. Reads one tensor at a time. Throws UsageError if the model is a
// T5, which takes several files, if it lacks the head that the task needs, if it is too large for
// one file, or if `to` exists already.
OnnxModel write_onnx_model(const std::string& from, const std::string& to,
                           OnnxTask task = OnnxTask::automatic);

// Exports a model to a new folder: model.onnx, or for a T5 encoder_model.onnx, decoder_model.onnx
// and decoder_with_past_model.onnx. Copies config.json and the tokenizer's files if `from` is a
// Hugging Face folder. Throws UsageError in the same cases as write_onnx_model(), except that a T5
// is supported.
OnnxModel write_onnx_folder(const std::string& from, const std::string& to,
                            OnnxTask task = OnnxTask::automatic);

}  // namespace smelt::checkpoint
