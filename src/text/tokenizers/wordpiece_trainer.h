// Trains a WordPiece vocabulary by merges of pairs as in byte-pair encoding (Sennrich et al. 2016):
// the most frequent pair of neighbouring pieces becomes a piece, again and again. This is how
// Hugging Face's BertWordPieceTrainer works too; Google's own trainer, which maximises likelihood,
// was never published.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "text/tokenizers/tokenizer_options.h"

namespace smelt {

constexpr std::int64_t kMaxVocabularySize = std::int64_t{1} << 22;

struct WordPieceTrainerOptions {
  std::int64_t vocab_size = 30522;  // at most kMaxVocabularySize
  std::int64_t min_frequency = 2;   // a rarer pair is not merged
  // Words with characters beyond the alphabet are left out. The alphabet is every character that
  // makes up at least a millionth of the text if these need at most a third of the places. If they
  // need more, it is as many of the most frequent ones as fit in a third, or as cover `coverage` of
  // the text and fit in two thirds. It grows while places would stay free, and never beyond
  // `alphabet_limit` characters; 0: no limit.
  double coverage = 0.9995;
  std::int64_t alphabet_limit = 0;
  // Tokens that stand after the special ones; one that is also a piece of the text is both.
  std::vector<std::string> reserved = {};
  TokenizerOptions tokenizer = {};  // of the words: which characters are words by themselves
};

// [PAD] [UNK] [CLS] [SEP] [MASK], then the reserved ones. UsageError for a reserved token that
// stands twice.
std::vector<std::string> first_tokens(const std::vector<std::string>& reserved);
// Appends [unused0], [unused1], … that are not there yet until there are `size` tokens.
void fill_with_unused(std::vector<std::string>& tokens, std::int64_t size);

// The tokens in order of id: the first ones as above, the alphabet (each character as a word's
// beginning and as "##" continuation, if it occurs so, sorted), then the merged pieces, best
// first. Of equally frequent pairs the alphabetically first is merged. Fewer than vocab_size pieces
// are filled up: with the forms of the alphabet's characters that do not occur in the text, most
// frequent characters first, then with [unusedN]. Warns if more than one character in a thousand of
// the text is not in the alphabet. Words that are longer than the tokenizer's limit (100 characters
// for new vocabularies), which become [UNK], are left out. UsageError when vocab_size has no room
// for the special tokens and the alphabet or is beyond its limit, or another option is below 1.
std::vector<std::string> train_wordpiece(const std::map<std::string, std::int64_t>& word_counts,
                                         const WordPieceTrainerOptions& options);

}  // namespace smelt
