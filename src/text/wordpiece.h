// WordPiece (Wu et al. 2016, section 4.1) as the original BERT's FullTokenizer applies it: words of the
// BasicTokenizer, each cut greedily into the longest known pieces; "##" begins a continuation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/basic_tokenizer.h"
#include "text/vocabulary.h"

namespace smelt {

constexpr std::size_t kMaxCharactersPerWord = 200;

struct BertTokenizerOptions {
  bool lower_case = true;
};

// Immutable: one may serve several threads.
class BertTokenizer {
 public:
  // UsageError when the vocabulary has no [UNK].
  BertTokenizer(Vocabulary vocabulary, BertTokenizerOptions options);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  // Ids of the pieces of one text, without [CLS] and [SEP].
  std::vector<std::int32_t> encode(std::string_view utf8) const;
  std::vector<std::string> tokenize(std::string_view utf8) const;
  // Appends the pieces of one word; [UNK] for the whole word when any part of it is unknown, or when it is
  // longer than kMaxCharactersPerWord.
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  using Pieces = std::unordered_map<std::string_view, std::int32_t>;

  Vocabulary vocabulary_;
  BasicTokenizer basic_;
  std::int32_t unknown_;
  Pieces first_, continuation_;   // views into the vocabulary; continuations without "##"
  std::size_t longest_ = 0;       // bytes of the longest piece
};

}  // namespace smelt
