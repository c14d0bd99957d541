// Names of BERT's parameters in the original checkpoint and in Hugging Face's.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/storage/parameter_names.h"

namespace smelt::checkpoint {

// Config field with the number of outputs of a classification head.
inline constexpr const char* kNumLabels = "num_labels";

// Returns all parameters of a BERT in the original's order: the encoder, both pre-training heads,
// the question-answering head and, if the config has kNumLabels, a classification head. The output
// embedding is not listed because it is tied to the input embedding. Throws UsageError if a size is
// missing from the config.
std::vector<ParameterName> bert_names(const Json& bert_config);

// The parts that a BERT may lack: the pooler and the heads.
inline constexpr std::array<std::string_view, 5> kBertParts{
    "bert/pooler/", "cls/predictions/", "cls/seq_relationship/", "cls/squad/", "output_"};

// Returns the size `name` of a bert_config.json. Throws UsageError unless it is a positive integer.
std::int64_t config_size(const Json& bert_config, const char* name);

}  // namespace smelt::checkpoint
