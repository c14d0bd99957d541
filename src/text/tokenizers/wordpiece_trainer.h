// Trains a WordPiece vocabulary by merging pairs as in byte-pair encoding (Sennrich et al. 2016):
// the most frequent pair of adjacent pieces becomes a piece, repeatedly. Hugging Face's
// BertWordPieceTrainer works the same way. Google's own trainer, which maximizes likelihood, was
// never published.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "text/tokenizers/tokenizer_options.h"

namespace smelt::text {

constexpr std::int64_t kMaxVocabularySize = std::int64_t{1} << 22;

struct WordPieceTrainerOptions {
  std::int64_t vocab_size = 30522;  // at most kMaxVocabularySize
  std::int64_t min_frequency = 2;   // rarer pairs are not merged
  // Controls the alphabet; words with other characters are skipped. The alphabet consists of the
  // characters that each make up at least a millionth of the text. If these need more than a third
  // of the vocabulary, it is limited to the most frequent ones: as many as fit in a third of the
  // vocabulary or, if that is more, as many as cover the share `coverage` of the text and fit in
  // two thirds. It grows if ids would remain unused, and never exceeds `alphabet_limit` characters
  // (0: no limit).
  double coverage = 0.9995;
  std::int64_t alphabet_limit = 0;
  // Tokens after the special ones. If one is also a piece of the text, both share an id.
  std::vector<std::string> reserved = {};
  TokenizerOptions tokenizer = {};  // defines which characters are separate words
};

// Returns [PAD] [UNK] [CLS] [SEP] [MASK], then the reserved tokens. Throws UsageError if a reserved
// token occurs twice.
std::vector<std::string> first_tokens(const std::vector<std::string>& reserved);
// Appends missing tokens [unused0], [unused1], … until there are `size` tokens.
void fill_with_unused(std::vector<std::string>& tokens, std::int64_t size);

// Returns the tokens by id: first_tokens(), then the alphabet, sorted (each character as the
// beginning of a word and as a "##" continuation, if it occurs so), then the merged pieces, best
// first. Between equally frequent pairs the alphabetically first is merged.
//
// If there are fewer than vocab_size pieces, they are followed by the missing forms ("x" or "##x")
// of the alphabet's characters, most frequent characters first, and then by [unusedN]. Words longer
// than the tokenizer's limit (100 characters for new vocabularies), which become [UNK], are
// skipped. Logs a warning if more than one character in a thousand is not in the alphabet. Throws
// UsageError if vocab_size is above its limit or has no room for the special tokens and the
// alphabet, or if another option is less than 1.
std::vector<std::string> train_wordpiece(const std::map<std::string, std::int64_t>& word_counts,
                                         const WordPieceTrainerOptions& options);

}  // namespace smelt::text
