// Whether a vocabulary is of cased text: lower-cased text never finds its pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tokenize/tokenizer_config.h"
#include "tokenize/vocabulary.h"

namespace smelt {

// Pieces with a capital letter of ASCII, but for those in brackets ("[CLS]").
std::size_t capital_pieces(const Vocabulary& vocabulary);

// Whether more than one piece in a hundred is such a one.
bool is_cased(const Vocabulary& vocabulary);

// Flags with what neither they nor a file beside the vocabulary say: `control`, and the case that
// its pieces have.
TokenizerFlags as_vocabulary_is(TokenizerFlags flags, const std::string& vocab,
                                std::optional<ControlCharacters> control);

// Logs a warning for a cased one; `who` lower-cases.
void warn_of_case(const Vocabulary& vocabulary, std::string_view who);

}  // namespace smelt
