// WordPiece (Wu et al. 2016, section 4.1) as the original BERT's FullTokenizer applies it: words of the
// BasicTokenizer, each cut greedily into the longest known pieces; "##" begins a continuation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/basic_tokenizer.h"
#include "text/tokenizer_options.h"
#include "text/vocabulary.h"
#include "text/wordpiece_trie.h"

namespace smelt {

// Immutable: one may serve several threads.
class BertTokenizer {
 public:
  // UsageError when the vocabulary has no [UNK].
  BertTokenizer(Vocabulary vocabulary, const TokenizerOptions& options);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const TokenizerOptions& options() const { return options_; }
  // Ids of the pieces of one text, without [CLS] and [SEP].
  std::vector<std::int32_t> encode(std::string_view utf8) const;
  // Appends them; allocates nothing but the growth of `ids`. One pass over the text.
  void encode(std::string_view utf8, std::vector<std::int32_t>& ids) const;
  std::vector<std::string> tokenize(std::string_view utf8) const;
  // Appends the pieces of one word; [UNK] for the whole word when any part of it is unknown, or when it is
  // longer than the options' limit.
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  struct IdSink;

  Vocabulary vocabulary_;
  TokenizerOptions options_;
  const CharacterTable* table_;
  WordPieceTrie trie_;
  std::int32_t unknown_;
};

}  // namespace smelt
