// Heads that were cut out of a BERT's or an ELECTRA's layers. transformers keeps the number of
// heads as it was and lists those that are gone ("pruned_heads": {"0": [1, 3], …}); smelt has how
// many are left in each layer and their width (BertConfig::attention_head_size).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace smelt {

inline constexpr const char *kPrunedHeads = "pruned_heads", *kHeadWidth = "attention_head_size";

// A config.json's fields in smelt's words, and the other way: the first ones are said to be left.
// UsageError beginning with `where` for lists that are none, and where layers have not as many
// heads each; of sizes that transformers has no words for.
Json with_heads_left(Json config, const std::string& where);
Json with_heads_listed(Json config);

// Of a config.json that with_heads_left() takes: the numbers of a layer's heads.
std::vector<std::int64_t> heads_left(const Json& config, std::int64_t layer);
// Of those only the ones at these places stay.
void keep_heads(Json& config, std::int64_t layer, const std::vector<std::int64_t>& kept);
// The layers of these numbers, renumbered from 0, keep what is said of theirs.
void renumber_heads(Json& config, const std::vector<std::int64_t>& kept_layers);

}  // namespace smelt
