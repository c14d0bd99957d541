// BERT's parameters under their two names: the original checkpoint's and Hugging Face's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/shape.h"

namespace smelt {

struct BertName {
  std::string original;
  std::string hugging_face;
  Shape shape;              // of the original: kernels are [in, out]
  bool transposed = false;  // Hugging Face stores [out, in]
};

// All parameters of a model with both pre-training heads, in the original's order. The output
// embedding is not among them: it is the input's. UsageError naming a size that the config lacks.
std::vector<BertName> bert_names(const nlohmann::json& bert_config);

// A positive whole number of a bert_config.json.
std::int64_t config_size(const nlohmann::json& bert_config, const char* name);

}  // namespace smelt
