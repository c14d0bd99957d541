// The tokenizer of a Unigram or BPE tokenizer.json, as Hugging Face's tokenizers apply it: added
// tokens are found first, the rest is normalised, split into words and then into pieces.
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

namespace smelt {

// Immutable: one may serve several threads.
class SubwordTokenizer final : public Tokenizer {
 public:
  // Reads a tokenizer.json, or a vocab.json with its merges.txt. Throws UsageError if it is
  // malformed or has parts that smelt does not know.
  explicit SubwordTokenizer(const std::string& path);
  SubwordTokenizer(SubwordFile file, const std::string& origin);

  const SubwordFile& file() const { return file_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  // What the normalizer does, in a BERT tokenizer's terms.
  TokenizerOptions options() const;

  std::int32_t size() const override { return vocabulary_.size(); }
  const std::string& token(std::int32_t id) const override { return vocabulary_.token(id); }
  std::int32_t unknown() const override { return unknown_; }
  // Whether the piece has no mark of a word's beginning and begins with a letter, mark or digit of
  // a script that separates words by spaces. So each piece of Chinese or Thai is a word, and
  // punctuation is none of the word before it.
  bool continues_word(std::int32_t id) const override {
    return continues_[static_cast<std::size_t>(id)];
  }
  void encode(std::string_view utf8, std::vector<std::int32_t>& ids) const override {
    encode_part(utf8, true, ids);
  }
  std::string readable_token(std::int32_t id) const;
  // Of a text that a special token such as [MASK] cuts in parts: appends the ids of one part.
  void encode_part(std::string_view utf8, bool is_first, std::vector<std::int32_t>& ids) const;
  std::vector<TokenSpan> encode_with_offsets(std::string_view utf8) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  // Writes a tokenizer.json, or by its name a vocab.json and the merges.txt beside it.
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
  std::vector<std::string> texts_;  // by id: what the piece stands for in a text
  std::set<std::int32_t> added_ids_;
  std::vector<bool> continues_;
  std::int32_t unknown_ = -1;
  // Whether offsets leave out the spaces of pieces, and whether the first one's is kept.
  bool trims_ = false, trims_with_prefix_ = false;
};

}  // namespace smelt
