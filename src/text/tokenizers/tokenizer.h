// What every tokenizer does, of whichever family: text to ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer_config.h"

namespace smelt {

// A piece and the bytes of the text that it stands for.
struct TokenSpan {
  std::int32_t id;
  std::size_t begin, end;

  bool operator==(const TokenSpan&) const = default;
};

// The offsets in characters (code points), as Hugging Face gives them.
std::vector<TokenSpan> in_characters(std::string_view text, std::vector<TokenSpan> spans);

// Returns where the text of piece `last` ends for a reader: combining marks behind it that belong
// to no piece are included, as a tokenizer that composes or strips accents leaves them out.
std::size_t shown_end(std::string_view text, std::span<const TokenSpan> pieces, std::size_t last);

// Immutable: one may serve several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int32_t size() const = 0;
  virtual const std::string& token(std::int32_t id) const = 0;  // id < size()
  virtual std::int32_t unknown() const = 0;
  // Whether the piece goes on with the word of the piece before it; id < size().
  virtual bool continues_word(std::int32_t id) const = 0;
  // Appends the ids of the pieces of one text, without special tokens.
  virtual void encode(std::string_view utf8, std::vector<std::int32_t>& ids) const = 0;
  virtual std::vector<TokenSpan> encode_with_offsets(std::string_view utf8) const = 0;
  // Returns whether the vocabulary has a piece for the character, at the beginning of a word or
  // within it.
  virtual bool has_character(std::string_view character) const;
  // Returns whether text is composed (NFC) before it is split.
  virtual bool composes() const { return false; }
  // UsageError for an id that is negative or not below size().
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

 protected:
  void check_ids(std::span<const std::int32_t> ids, std::string_view origin) const;
};

// Reads vocab.txt or tokenizer.json (BertTokenizer::load), vocab.json with merges.txt, or a
// SentencePiece model, which is a file *.model or a tokenizer.json of a T5. UsageError for flags
// that a SentencePiece model has no use for.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path, const TokenizerFlags& flags);

// UsageError beginning with `where` if the vocabulary has ids beyond the `rows` of a model's
// embeddings.
void check_rows(const std::string& vocab, std::int64_t rows, std::string_view where);

}  // namespace smelt
