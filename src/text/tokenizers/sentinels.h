// T5's sentinel tokens: <extra_id_0> for the first noise span, <extra_id_1> for the second. Their
// ids descend.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizers/tokenizer.h"

namespace smelt::text {

struct Sentinels {
  std::int32_t first = 0;  // id of <extra_id_0>
  std::int64_t count = 0;
  std::int64_t ids = 0;  // number of pieces and sentinels together
};

// Returns the sentinels of the vocabulary: those among its own pieces (as in mT5), or `extra` ids
// above them, as in the original T5 and transformers' T5Tokenizer, whose spiece.model has none.
// Throws UsageError if its own sentinels do not descend, or if `extra` is negative.
Sentinels sentinels_of(const Tokenizer& tokenizer, const std::string& origin, std::int64_t extra);
// Returns the number of sentinels above the pieces, for a vocabulary whose files do not contain it:
// all ids from `pieces` up to the first added token above the pieces, or without such a token up to
// `rows`, the number of rows of the model's embeddings; at most 100.
std::int64_t sentinels_on_top(std::int64_t pieces, std::int64_t rows,
                              const std::vector<AddedToken>& added);

// Returns the id of a piece such as "</s>". Throws UsageError if the vocabulary lacks it.
std::int32_t id_of_piece(const Tokenizer& tokenizer, const std::string& origin,
                         const std::string& piece);

}  // namespace smelt::text
