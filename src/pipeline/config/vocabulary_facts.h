// Properties of a model that follow from the vocabulary and the training data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizers/vocabulary.h"

namespace smelt::pipeline {

// Returns the number of embedding rows: `size`, or one per token if it is 0. Throws UsageError if
// there are fewer rows than tokens, because an id without a row would make the loss NaN. `name` is
// the name of the size in the message.
std::int64_t vocabulary_rows(std::int64_t size, const text::Vocabulary& vocabulary,
                             const std::string& name);
// Overload for a vocabulary of `lines` tokens.
std::int64_t vocabulary_rows(std::int64_t size, std::int64_t lines, const std::string& origin,
                             const std::string& name);

// Returns the most frequent token of the training data, if their description contains it. Throws
// UsageError if the vocabulary lacks that token.
std::optional<std::int32_t> majority_token(const std::vector<std::string>& records,
                                           const text::Vocabulary& vocabulary);

}  // namespace smelt::pipeline
