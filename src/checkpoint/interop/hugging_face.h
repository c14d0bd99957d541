// A pre-trained BERT as the folder that transformers' BertForPreTraining, BertForMaskedLM,
// BertModel … and BertTokenizer load, and back. Format: docs/reference/formats/checkpoint.md,
// "Hugging Face folder".
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "checkpoint/interop/model_folder.h"

namespace smelt {

// The config.json of a class of transformers' for the fields of a bert_config.json.
Json hugging_face_config(const Json& bert, std::string_view class_name);

struct HuggingFaceBert {
  Json config;            // the fields of a bert_config.json
  TensorMap parameters;   // f32, by the original checkpoint's names, kernels [in, out]
  std::string vocab_txt;  // the content of vocab.txt
  TokenizerOptions tokenizer;
  std::shared_ptr<const void> owner;  // keeps imported parameters alive; export needs none
};

// Writes config.json, model.safetensors, vocab.txt, tokenizer.json, tokenizer_config.json and
// special_tokens_map.json. Parameters that a BERT does not have (optimizer slots, the step) are
// left out; a BERT may lack its pooler, either head or all of them, and is the class that has the
// rest. UsageError when a parameter is missing or has another shape than the config's, when the
// vocabulary does not fit the config or lacks a special token, or when the folder already holds
// something else; then nothing is written.
void export_hugging_face(const std::string& folder, const HuggingFaceBert& bert,
                         OutputDirectory::Earlier earlier = OutputDirectory::Earlier::refused);
// The same with other parameters than bert.parameters, each read when it is written.
void export_hugging_face(const std::string& folder, const HuggingFaceBert& bert,
                         const LazyTensors& parameters, const FolderForm& form);

// Reads config.json, the weights and, where they are, vocab.txt and tokenizer_config.json.
// UsageError when one is missing, when the model is not a BERT, or when a tensor is missing or has
// another shape; pooler and heads may be missing as a whole. "gelu" (by erf) is taken as the
// original's "gelu" (by tanh), with a logged warning.
HuggingFaceBert import_hugging_face(const std::string& folder);
// The parameters are read when they are wanted; model.config is a bert_config.json's.
OpenedFolder open_hugging_face_bert(const std::string& folder);

}  // namespace smelt
