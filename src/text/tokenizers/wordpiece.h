// The tokenizer of an encoder (BERT, ELECTRA). WordPiece (Wu et al. 2016, section 4.1) is applied
// as the original BERT's FullTokenizer does it: words of the BasicTokenizer, each cut greedily into
// the longest known pieces; "##" begins a continuation. The other vocabularies, Unigram and BPE,
// are applied by text/tokenizers/subword_tokenizer.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/character_table.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/vocabulary.h"
#include "text/tokenizers/wordpiece_trie.h"

namespace smelt {

class AddedTokens;
class Segmenter;
class SubwordTokenizer;
class TokenFinder;
struct MappedText;

// Immutable: one may serve several threads.
class BertTokenizer final : public Tokenizer {
 public:
  // Reads vocab.txt or tokenizer.json with its tokenizer_options()
  // (text/tokenizers/tokenizer_config.h).
  static BertTokenizer load(const std::string& path, const TokenizerFlags& flags);
  // UsageError when the vocabulary has no [UNK].
  BertTokenizer(Vocabulary vocabulary, const TokenizerOptions& options);
  // Of a Unigram or BPE vocabulary; `segment_command` as in TokenizerOptions. UsageError when it
  // has no [UNK].
  explicit BertTokenizer(std::shared_ptr<const SubwordTokenizer> subword,
                         const std::string& segment_command = {});

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const TokenizerOptions& options() const { return options_; }
  std::int32_t size() const override { return vocabulary_.size(); }
  const std::string& token(std::int32_t id) const override { return vocabulary_.token(id); }
  std::int32_t unknown() const override { return unknown_; }
  bool continues_word(std::int32_t id) const override;
  // Null for WordPiece.
  const SubwordTokenizer* subword() const { return subword_.get(); }

  std::vector<std::int32_t> encode(std::string_view utf8) const;
  // One pass over the text; allocates nothing but the growth of `ids`, unless the options have a
  // segment_command.
  void encode(std::string_view utf8, std::vector<std::int32_t>& ids) const override;
  // Does the same for text whose words are separated already: no segment_command splits it.
  void encode_words(std::string_view utf8, std::vector<std::int32_t>& ids) const;
  // The bytes that became a piece, without those before and after it that vanished; of [UNK] the
  // whole word.
  std::vector<TokenSpan> encode_with_offsets(std::string_view utf8) const override;
  bool has_character(std::string_view character) const override;
  bool composes() const override { return options_.nfc; }
  // Appends the ids of a part of a text that [MASK] cuts in parts; `is_first` for the first one.
  // White space before [MASK] belongs to [MASK].
  void encode_part(std::string_view utf8, bool is_first, bool before_mask,
                   std::vector<std::int32_t>& ids) const;
  // The piece for a person to read: a byte-level piece as its text, with "▁" for a space before it,
  // unless it is a part of a character.
  std::string readable_token(std::int32_t id) const;
  std::vector<std::string> tokenize(std::string_view utf8) const;
  // Words separated by spaces, pieces put together; what normalisation took away is not brought
  // back.
  std::string decode(std::span<const std::int32_t> ids) const override;
  // As tokenizer.json, or as vocab.txt with tokenizer_config.json, by the name; as the forms of
  // SubwordTokenizer::save if it is not WordPiece. UsageError for a form that it does not have.
  void save(const std::string& path) const;
  // Appends the pieces of one word; [UNK] for the whole word when any part of it is unknown, or
  // when it is longer than the options' limit.
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  struct IdSink;
  struct SpanSink;

  void take_segmenter();
  MappedText segmented(std::string_view utf8, bool keep_sources) const;
  std::vector<TokenSpan> word_spans(std::string_view utf8) const;

  Vocabulary vocabulary_;
  TokenizerOptions options_;
  const CharacterTable* table_;
  WordPieceTrie trie_;
  std::shared_ptr<const AddedTokens> added_;         // null: there are none
  std::shared_ptr<const SubwordTokenizer> subword_;  // null: WordPiece
  std::shared_ptr<const Segmenter> segmenter_;       // null: text is taken as it is
  std::shared_ptr<const TokenFinder> kept_whole_;    // added tokens, for the segmenter
  std::int32_t unknown_;
};

}  // namespace smelt
