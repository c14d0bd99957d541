// One form of a checkpoint to another: smelt's, TensorFlow's, Hugging Face's.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/interop/model_folder.h"
#include "checkpoint/interop/stored_model.h"

namespace smelt {

struct ConvertJob {
  std::string from = {}, to = {};
  std::optional<ModelForm> form = {};  // empty: as the name of `to` says
  DType dtype = DType::f32;            // of what is written: f32, bf16 or f16
  bool slots = true;                   // and the step; false: the parameters alone
  bool averages = false;               // the weights' moving averages in their place, without slots
  std::string config = {}, vocab = {};  // files; empty: what lies beside the checkpoint
  Json model = {};                      // what `config` would hold, where no file does; null
  bool beside = true;                   // the model's config and vocabulary are put beside it
  std::optional<bool> lower_case = {};  // of the vocabulary, where no tokenizer_config.json says it
  std::uint64_t shard_bytes = FolderForm().shard_bytes;  // of a Hugging Face folder's files
};

struct Converted {
  ModelForm from = ModelForm::smelt, to = ModelForm::smelt;
  std::string where_from, where_to;
  std::int64_t step = 0;
  std::size_t parameters = 0, slots = 0;  // tensors
  std::vector<std::string> left_out;      // each with a word
};

// smelt: `to` becomes a model folder, or is its checkpoint-<step>. TensorFlow: `to` is a prefix,
// and the file "checkpoint" beside it names it; bert_config.json and vocab.txt are put there where
// they are known and missing. Hugging Face: `to` is a new folder, of an ELECTRA one with a folder
// for each part. Tensors pass one at a time, but to a checkpoint of smelt's, which are all held.
// UsageError when the form is not clear, the model cannot have it, something is missing for it, or
// `to` is there already, or another process works in its folder; nothing is written then.
Converted convert_checkpoint(const ConvertJob& job);

}  // namespace smelt
