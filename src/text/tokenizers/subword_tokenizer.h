// Tokenizer for a Unigram or BPE tokenizer.json, equivalent to Hugging Face's tokenizers: finds
// added tokens first, then normalizes the remaining text and splits it into words and pieces.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "text/tokenizers/added_tokens.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/subword_model.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::text {

// Immutable and thread-safe.
class SubwordTokenizer final : public Tokenizer {
 public:
  // Reads a tokenizer.json, or a vocab.json with its merges.txt. Throws UsageError if it is
  // malformed or has parts that smelt does not support.
  explicit SubwordTokenizer(const std::string& path);
  SubwordTokenizer(SubwordFile file, const std::string& origin);

  const SubwordFile& file() const { return file_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  // Returns the normalizer's settings as the options of a BERT tokenizer.
  TokenizerOptions options() const;

  std::int32_t size() const override { return vocabulary_.size(); }
  const std::string& token(std::int32_t id) const override { return vocabulary_.token(id); }
  std::int32_t unknown() const override { return unknown_; }
  // Returns whether the piece has no word-begin mark and begins with a letter, mark or digit of a
  // script that separates words by spaces. So each piece of Chinese or Thai is a separate word, and
  // punctuation never continues a word.
  bool continues_word(std::int32_t id) const override {
    return continues_[static_cast<std::size_t>(id)];
  }
  void encode(std::string_view utf8, std::vector<std::int32_t>& ids) const override {
    encode_part(utf8, true, ids);
  }
  std::string readable_token(std::int32_t id) const;
  // Appends the ids of one part of a text that is split at special tokens such as [MASK].
  void encode_part(std::string_view utf8, bool is_first, std::vector<std::int32_t>& ids) const;
  std::vector<TokenSpan> encode_with_offsets(std::string_view utf8) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  // Writes a tokenizer.json, or, if the path is named vocab.json, that and merges.txt in the same
  // folder.
  void save(const std::string& path) const;

 private:
  struct Sink;

  bool is_byte_level() const { return file_.pre_tokenizer.kind == PreTokenizer::Kind::byte_level; }
  void find_parts(std::string_view utf8, Sink& sink) const;
  void split_normalised(const MappedText& text, Sink& sink) const;
  void split_metaspace(const MappedText& text, Sink& sink) const;
  void split_bytes(const MappedText& text, Sink& sink) const;
  void split_bytes(std::string_view text, Sink& sink) const;
  void encode_words(const MappedText& words, Sink& sink) const;
  void trim(std::string_view utf8, std::vector<TokenSpan>& spans) const;

  SubwordFile file_;
  Vocabulary vocabulary_;
  TextNormalizer normalizer_;
  TokenFinder as_written_, normalized_;
  std::unique_ptr<const SubwordModel> model_;
  std::vector<std::string> texts_;  // by id: the text that the piece represents
  std::set<std::int32_t> added_ids_;
  std::vector<bool> continues_;
  std::int32_t unknown_ = -1;
  // trims_: offsets exclude the spaces at both ends of a piece. trims_with_prefix_: they
  // nevertheless include a single space at the beginning of the text's first piece, because the
  // tokenizer may have added it.
  bool trims_ = false, trims_with_prefix_ = false;
};

}  // namespace smelt::text
