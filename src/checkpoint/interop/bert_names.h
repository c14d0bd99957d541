// BERT's parameters under their two names.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/storage/parameter_names.h"

namespace smelt {

// In a config: the outputs of a head that scores whole texts or words.
inline constexpr const char* kNumLabels = "num_labels";

// All parameters of a model with both pre-training heads, the one of answers and, where the config
// has kNumLabels, a head with so many outputs, in the original's order. The output embedding is not
// among them: it is the input's. UsageError naming a size that the config lacks.
std::vector<ParameterName> bert_names(const Json& bert_config);

// What a BERT may lack: its pooler and its heads.
inline constexpr std::array<std::string_view, 5> kBertParts{
    "bert/pooler/", "cls/predictions/", "cls/seq_relationship/", "cls/squad/", "output_"};

// A positive whole number of a bert_config.json.
std::int64_t config_size(const Json& bert_config, const char* name);

}  // namespace smelt
