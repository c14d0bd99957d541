// A slow reference tokenizer: google-research/bert's tokenization.py step by step, with one pass
// over all code points per step and ICU for every property.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::text {

std::vector<std::string> slow_words(std::string_view utf8, const TokenizerOptions& options);

// Repeatedly takes the longest prefix that is a piece; returns {"[UNK]"} if no piece matches.
std::vector<std::string> slow_pieces(const Vocabulary& vocabulary, const std::string& word,
                                     std::size_t limit = 200);

}  // namespace smelt::text
