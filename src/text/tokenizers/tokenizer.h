// The interface of all tokenizers: converts text to ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer_config.h"

namespace smelt::text {

// A piece and the range of bytes it covers in the text.
struct TokenSpan {
  std::int32_t id;
  std::size_t begin, end;

  bool operator==(const TokenSpan&) const = default;
};

// Converts byte offsets to characters (code points), as Hugging Face reports them.
std::vector<TokenSpan> in_characters(std::string_view text, std::vector<TokenSpan> spans);

// Returns where the text of piece `last` should end for display. Includes following combining marks
// that belong to no piece, because a tokenizer that composes or strips accents leaves them out.
std::size_t shown_end(std::string_view text, std::span<const TokenSpan> pieces, std::size_t last);

// Immutable and thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int32_t size() const = 0;
  virtual const std::string& token(std::int32_t id) const = 0;  // `id` must be less than size()
  virtual std::int32_t unknown() const = 0;
  // Returns whether the piece continues the word of the previous piece. `id` must be less than
  // size().
  virtual bool continues_word(std::int32_t id) const = 0;
  // Appends the ids of the pieces of one text, without special tokens.
  virtual void encode(std::string_view utf8, std::vector<std::int32_t>& ids) const = 0;
  virtual std::vector<TokenSpan> encode_with_offsets(std::string_view utf8) const = 0;
  // Returns whether the vocabulary has a piece for the character, at the beginning of a word or
  // within it.
  virtual bool has_character(std::string_view character) const;
  // Returns whether text is normalized to NFC before it is split.
  virtual bool composes() const { return false; }
  // Throws UsageError if an id is negative or not less than size().
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

 protected:
  void check_ids(std::span<const std::int32_t> ids, std::string_view origin) const;
};

// Returns the id of a piece, or nullopt if the vocabulary lacks it. Searches linearly.
std::optional<std::int32_t> find_piece(const Tokenizer& tokenizer, std::string_view piece);

// Reads a vocab.txt or tokenizer.json (BertTokenizer::load), a vocab.json with merges.txt, or a
// SentencePiece model (a *.model, or a T5 tokenizer.json). Throws UsageError if a flag does not
// apply to SentencePiece models.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path, const TokenizerFlags& flags);

// Throws UsageError, beginning with `where`, if the vocabulary has ids that are not less than
// `rows`, the number of rows of a model's embeddings.
void check_rows(const std::string& vocab, std::int64_t rows, std::string_view where);

}  // namespace smelt::text
