// The tokenizer of an encoder (BERT, ELECTRA). WordPiece (Wu et al. 2016, section 4.1) is applied
// as by the original BERT's FullTokenizer: each word of the BasicTokenizer is split greedily into
// the longest known pieces; "##" begins a continuation. Unigram and BPE vocabularies are applied by
// text/tokenizers/subword_tokenizer.h.
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

namespace smelt::text {

class AddedTokens;
class Segmenter;
class SubwordTokenizer;
class TokenFinder;
struct MappedText;

// Immutable and thread-safe.
class BertTokenizer final : public Tokenizer {
 public:
  // Reads vocab.txt or tokenizer.json with its tokenizer_options()
  // (text/tokenizers/tokenizer_config.h).
  static BertTokenizer load(const std::string& path, const TokenizerFlags& flags);
  // Throws UsageError if the vocabulary has no [UNK].
  BertTokenizer(Vocabulary vocabulary, const TokenizerOptions& options);
  // Wraps a Unigram or BPE vocabulary. For `segment_command` see TokenizerOptions. Throws
  // UsageError if it has no [UNK].
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
  // Appends the ids of a text in one pass. Allocates only to grow `ids`, unless the options have a
  // segment_command.
  void encode(std::string_view utf8, std::vector<std::int32_t>& ids) const override;
  // Appends the ids of a text whose words are already separated; does not run the segment_command.
  void encode_words(std::string_view utf8, std::vector<std::int32_t>& ids) const;
  // Returns the pieces with their byte ranges, without dropped bytes before and after them. The
  // range of [UNK] is the whole word.
  std::vector<TokenSpan> encode_with_offsets(std::string_view utf8) const override;
  bool has_character(std::string_view character) const override;
  bool composes() const override { return options_.nfc; }
  // Appends the ids of one part of a text that is split at [MASK]. `is_first` is set for the first
  // part. `before_mask` is set if [MASK] follows the part; white space at its end is then part of
  // [MASK].
  void encode_part(std::string_view utf8, bool is_first, bool before_mask,
                   std::vector<std::int32_t>& ids) const;
  // Returns the piece in readable form: a byte-level piece as its text, with "▁" for a space before
  // it, unless it is only part of a character.
  std::string readable_token(std::int32_t id) const;
  std::vector<std::string> tokenize(std::string_view utf8) const;
  // Returns the words separated by spaces, with their pieces joined. Normalization is not undone.
  std::string decode(std::span<const std::int32_t> ids) const override;
  // Writes a WordPiece tokenizer as tokenizer.json, or as vocab.txt with tokenizer_config.json,
  // depending on the file name; other tokenizers as SubwordTokenizer::save does. Throws UsageError
  // for an unsupported file type.
  void save(const std::string& path) const;
  // Appends the pieces of one word; [UNK] for the whole word if any part of it is unknown or it is
  // longer than the options' limit.
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
  std::shared_ptr<const AddedTokens> added_;         // null: none
  std::shared_ptr<const SubwordTokenizer> subword_;  // null: WordPiece
  std::shared_ptr<const Segmenter> segmenter_;       // null if the text is not segmented
  std::shared_ptr<const TokenFinder> kept_whole_;  // added tokens that the segmenter must not split
  std::int32_t unknown_;
};

}  // namespace smelt::text
