// Whether a vocabulary is of cased text: lower-cased text never finds its pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

// The number of pieces that the normalisation of these options can never produce: those with
// capital letters, and if accents are stripped, with accents, voiced kana or Hangul syllables.
std::size_t lost_pieces(const Vocabulary& vocabulary, const TokenizerOptions& options);

// Returns whether lost_pieces() is more than 1 % of the vocabulary.
bool is_lost(const Vocabulary& vocabulary, const TokenizerOptions& options);

// Fills in flags that are not set, for a vocabulary whose options are not stored. Sets lower_case
// unless is_lost() with it. In that case an ELECTRA (flags.control) still gets lower_case, but with
// strip_accents false, if that loses no piece; a BERT always strips accents when it lower-cases.
TokenizerFlags case_of(const Vocabulary& vocabulary, TokenizerFlags flags);

// The flags for a vocabulary: unset ones are filled in by case_of(), and `control`, unless options
// are stored beside the vocabulary.
TokenizerFlags as_vocabulary_is(TokenizerFlags flags, const std::string& vocab,
                                std::optional<ControlCharacters> control);

// Logs a warning if the normalisation of these options loses pieces; `who` asks for it.
void warn_of_case(const Vocabulary& vocabulary, const TokenizerOptions& options,
                  std::string_view who);

}  // namespace smelt
