// A pre-trained BERT as the folder that transformers' BertForPreTraining, BertForMaskedLM,
// BertModel … and BertTokenizer load, and back. Format: docs/formats/checkpoint.md, "Hugging Face
// folder".
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "format/safetensors.h"
#include "store/file.h"
#include "tokenize/tokenizer_options.h"

namespace smelt {

struct HuggingFaceBert {
  nlohmann::json config;  // the fields of a bert_config.json
  TensorMap parameters;   // f32, by the original checkpoint's names, kernels [in, out]
  std::string vocab_txt;  // the content of vocab.txt
  TokenizerOptions tokenizer;
  std::shared_ptr<const void> owner;  // keeps imported parameters alive; export needs none
};

// Writes config.json, model.safetensors, vocab.txt, tokenizer.json, tokenizer_config.json and
// special_tokens_map.json. Parameters that a BERT does not have (optimizer slots, the step) are
// left out. UsageError when one is missing or has another shape than the config's, when the
// vocabulary does not fit the config or lacks a special token, or when the folder already holds
// something else; then nothing is written.
void export_hugging_face(const std::string& folder, const HuggingFaceBert& bert,
                         OutputDirectory::Earlier earlier = OutputDirectory::Earlier::refused);

// Reads config.json, model.safetensors, vocab.txt and, where it is, tokenizer_config.json.
// UsageError when one is missing, when the model is not a BERT with both pre-training heads, or
// when a tensor is missing or has another shape. "gelu" (by erf) is taken as the original's "gelu"
// (by tanh), with a logged warning.
HuggingFaceBert import_hugging_face(const std::string& folder);

}  // namespace smelt
