// T5's sentinels: <extra_id_0> for the first span of noise, <extra_id_1> for the next, each one's
// id below that of the one before.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizers/tokenizer.h"

namespace smelt {

struct Sentinels {
  std::int32_t first = 0;  // <extra_id_0>
  std::int64_t count = 0;
  std::int64_t ids = 0;  // of pieces and sentinels: all are below it
};

// Those among the vocabulary's own pieces (as in mT5's), or `extra` on top of them, as the original
// T5 and transformers' T5Tokenizer have it, whose spiece.model knows none. UsageError for own ones
// that do not descend, or fewer than none.
Sentinels sentinels_of(const Tokenizer& tokenizer, const std::string& origin, std::int64_t extra);
// Returns the number of sentinels above the pieces if the vocabulary's files do not give one: the
// free ids from `pieces` to the lowest added token or to `rows`, at most 100.
std::int64_t sentinels_on_top(std::int64_t pieces, std::int64_t rows,
                              const std::vector<AddedToken>& added);

// The id of a piece such as "</s>". UsageError for a vocabulary without.
std::int32_t id_of_piece(const Tokenizer& tokenizer, const std::string& origin,
                         const std::string& piece);

}  // namespace smelt
