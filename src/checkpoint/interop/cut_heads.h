// Pruned attention heads of BERT, ELECTRA and RoBERTa. transformers keeps the original number of
// heads in the config and lists the pruned ones ("pruned_heads": {"0": [1, 3], ...}); smelt stores
// the number of remaining heads per layer and their width (BertConfig::attention_head_size).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace smelt::checkpoint {

inline constexpr const char *kPrunedHeads = "pruned_heads", *kHeadWidth = "attention_head_size";

// Converts config.json fields from transformers' representation to smelt's. Throws UsageError that
// begins with `where` if a list is invalid or layers have different numbers of heads.
Json with_remaining_heads(Json config, const std::string& where);
// Converts back to transformers' representation; the lowest-numbered heads count as remaining.
// Throws UsageError if transformers cannot represent the sizes.
Json with_heads_listed(Json config);

// Returns the numbers of the heads that remain in a layer, from transformers' representation.
std::vector<std::int64_t> remaining_heads(const Json& config, std::int64_t layer);
// Keeps only some heads of a layer: `kept` are indices into remaining_heads().
void keep_heads(Json& config, std::int64_t layer, const std::vector<std::int64_t>& kept);
// Changes the list of pruned heads for a model that keeps only `kept_layers`: removes the entries
// of the other layers and renumbers the rest from 0.
void renumber_heads(Json& config, const std::vector<std::int64_t>& kept_layers);

}  // namespace smelt::checkpoint
