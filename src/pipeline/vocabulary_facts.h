// What a model takes over from the vocabulary and the training data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizers/vocabulary.h"

namespace smelt {

// The rows of the embedding: `size`, or 0 for one a token. UsageError, in which `name` is what the
// user calls the size, when there are fewer rows than tokens: ids beyond them would train to NaN.
std::int64_t vocabulary_rows(std::int64_t size, const Vocabulary& vocabulary,
                             const std::string& name);
// The same of any vocabulary of `lines` tokens.
std::int64_t vocabulary_rows(std::int64_t size, std::int64_t lines, const std::string& origin,
                             const std::string& name);

// The most frequent token of the training data, where their description says it. UsageError when it
// is none of the vocabulary's.
std::optional<std::int32_t> majority_token(const std::vector<std::string>& records,
                                           const Vocabulary& vocabulary);

}  // namespace smelt
