// Detects whether a vocabulary is cased. Lower-cased text never matches pieces with capital
// letters.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::text {

// Returns the number of pieces that can never occur in text that is normalized with these options:
// pieces with capital letters and, if accents are stripped, pieces with accents, voiced kana or
// Hangul syllables.
std::size_t lost_pieces(const Vocabulary& vocabulary, const TokenizerOptions& options);

// Returns whether lost_pieces() is more than 1 % of the vocabulary.
bool is_lost(const Vocabulary& vocabulary, const TokenizerOptions& options);

// Returns the flags with lower_case filled in if it is not set, for a vocabulary without stored
// options. It is false if lower-casing would lose pieces (is_lost()), otherwise true. An ELECTRA
// vocabulary (flags.control) that loses no piece if accents are kept gets lower_case true and
// strip_accents false instead; BERT always strips accents when it lower-cases.
TokenizerFlags case_of(const Vocabulary& vocabulary, TokenizerFlags flags);

// Returns the flags for a vocabulary. If it has no stored options, unset flags are filled in by
// case_of() and from `control`.
TokenizerFlags with_vocabulary_options(TokenizerFlags flags, const std::string& vocab,
                                       std::optional<ControlCharacters> control);

// Logs a warning if normalization with these options loses pieces (is_lost()). `who` is the subject
// of the message: the program or setting that sets the options.
void warn_of_case(const Vocabulary& vocabulary, const TokenizerOptions& options,
                  std::string_view who);

}  // namespace smelt::text
