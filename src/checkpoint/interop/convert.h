// Converts checkpoints between smelt's, TensorFlow's and Hugging Face's formats.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/interop/model_folder.h"
#include "checkpoint/interop/stored_model.h"

namespace smelt::checkpoint {

struct ConvertJob {
  std::string from = {}, to = {};
  std::optional<ModelForm> form = {};  // target format; nullopt: inferred from the name of `to`
  compiler::DType dtype = compiler::DType::f32;  // of the written weights: f32, bf16 or f16
  bool slots = true;                    // keep optimizer slots and the step; false: parameters only
  bool averages = false;                // replace the weights by their moving averages; drops slots
  std::string config = {}, vocab = {};  // paths; empty: the files in the checkpoint's folder
  Json model = {};                      // the model config if no file has it; null if not given
  bool beside = true;                   // also write the model's config and vocabulary next to `to`
  std::optional<bool> lower_case = {};  // for a vocabulary without a tokenizer_config.json
  // maximum bytes of a file in a Hugging Face folder
  std::uint64_t shard_bytes = FolderForm().shard_bytes;
};

// The outcome of a conversion.
struct Converted {
  ModelForm from = ModelForm::smelt, to = ModelForm::smelt;
  std::string where_from, where_to;
  std::int64_t step = 0;
  std::size_t parameters = 0, slots = 0;  // numbers of tensors
  std::vector<std::string> left_out;      // descriptions of tensors that were not converted
};

// Converts a checkpoint. For smelt's format, `to` is a model folder or its checkpoint-<step>. For
// TensorFlow, `to` is a prefix; updates the file "checkpoint" in its folder and adds
// bert_config.json and vocab.txt if they are known and missing. For Hugging Face, `to` is a new
// folder; an ELECTRA gets one subfolder for each part. Reads one tensor at a time, except that a
// smelt checkpoint is held in memory as a whole. Throws UsageError, before anything is written, if
// the format cannot be inferred or does not support the model, if required files are missing, if
// `to` exists, or if another process works in its folder.
Converted convert_checkpoint(const ConvertJob& job);

}  // namespace smelt::checkpoint
