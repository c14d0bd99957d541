// Reads and writes a pretrained BERT as a Hugging Face folder, which transformers'
// BertForPreTraining, BertForMaskedLM, BertModel and BertTokenizer load. Format:
// docs/reference/formats/checkpoint.md, "Hugging Face folder".
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "checkpoint/interop/model_folder.h"

namespace smelt::checkpoint {

// Returns transformers' config.json for class `class_name` from the fields of a bert_config.json.
Json hugging_face_config(const Json& bert, std::string_view class_name);

// A BERT with its vocabulary.
struct HuggingFaceBert {
  Json config;               // the fields of a bert_config.json
  io::TensorMap parameters;  // f32; keys: the original checkpoint's names; kernels are [in, out]
  std::string vocab_txt;     // the content of vocab.txt
  text::TokenizerOptions tokenizer;
  std::shared_ptr<const void> owner;  // keeps imported parameters alive; not needed for export
};

// Writes config.json, model.safetensors, vocab.txt, tokenizer.json, tokenizer_config.json and
// special_tokens_map.json. Ignores parameters that are not part of a BERT, such as optimizer slots.
// The pooler and the heads may be missing; transformers' class is chosen to match. Throws
// UsageError, before anything is written, if a parameter is missing or has another shape than the
// config's, if the vocabulary does not fit the config or lacks a special token, or if the folder
// contains other files.
void export_hugging_face(
    const std::string& folder, const HuggingFaceBert& bert,
    io::OutputDirectory::Earlier earlier = io::OutputDirectory::Earlier::refused);
// Writes `parameters` instead of bert.parameters, reading each one when it is written.
void export_hugging_face(const std::string& folder, const HuggingFaceBert& bert,
                         const io::LazyTensors& parameters, const FolderForm& form);

// Reads config.json, the weights and, if present, vocab.txt and tokenizer_config.json. Throws
// UsageError if a file or tensor is missing, if a tensor has another shape or if the model is not a
// BERT. The pooler and each head may be missing as a whole. Replaces "gelu" (erf) by the original's
// "gelu" (tanh approximation), with a logged warning.
HuggingFaceBert import_hugging_face(const std::string& folder);
// Opens the folder without reading parameters. model.config has the fields of a bert_config.json.
// Reads gelu with erf as the tanh approximation, without a warning.
OpenedFolder open_hugging_face_bert(const std::string& folder);

// Logs a warning, once for each folder, if a Hugging Face folder has a BERT that computes gelu with
// erf, because smelt replaces it by the tanh approximation.
void warn_of_replaced_gelu(const std::string& folder);

}  // namespace smelt::checkpoint
