// What the Hugging Face folders of all encoders have in common: docs/formats/checkpoint.md,
// "Hugging Face folder".
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "checkpoint/parameter_names.h"
#include "format/safetensors.h"
#include "store/file.h"
#include "tokenize/tokenizer_options.h"

namespace smelt {

struct ModelFolder {
  nlohmann::json config;  // of config.json; written are also those fields that all have
  TensorMap parameters;   // f32, by the original checkpoint's names, kernels [in, out]
  std::string vocab_txt;  // the content of vocab.txt
  TokenizerOptions tokenizer;
  std::int64_t max_tokens = 512;
  std::shared_ptr<const void> owner;  // keeps read parameters alive; writing needs none
};

// Parameters that are none of `names` are left out. UsageError when one is missing or has another
// shape, when the vocabulary has more tokens than `vocab_size` of the config or lacks a special
// one, or when the folder already holds something else; then nothing is written.
void write_model_folder(const std::string& folder, const ModelFolder& model,
                        std::span<const ParameterName> names, OutputDirectory::Earlier earlier);

// config.json; null when it is not JSON. SystemError when it is not there.
nlohmann::json read_model_config(const std::string& folder);
// The rest of it. UsageError when a tensor is missing or has another shape.
ModelFolder read_model_folder(const std::string& folder, nlohmann::json config,
                              std::span<const ParameterName> names);

// A text of a config; UsageError for a value of another kind.
std::string text_field(const nlohmann::json& config, const char* name, const char* fallback);

}  // namespace smelt
