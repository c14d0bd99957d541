// SentencePiece models (Kudo and Richardson 2018), unigram or BPE, such as T5's spiece.model,
// through the library.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace smelt {

class Segmenter;

// The first id at which two models' bytes have other pieces, and -1 where they have the same ones,
// in the same order, whatever else the models say.
std::int64_t first_other_piece(std::string_view model, std::string_view other);

class SentencePieceTokenizer final : public Tokenizer {
 public:
  // Of a *.model, or of a tokenizer.json (text/tokenizers/unigram_json.h). UsageError when the file
  // is missing or no such model. `begins_with_space`: whether a text gets the sign of a space
  // before its first piece; else as the model says. `flags`: only segment_command is used.
  // `keeps_spaces`: spaces at the ends of a text and several in a row are kept; else as the model
  // says.
  explicit SentencePieceTokenizer(const std::string& path,
                                  std::optional<bool> begins_with_space = std::nullopt,
                                  const TokenizerFlags& flags = {}, bool keeps_spaces = false);
  ~SentencePieceTokenizer() override;

  std::int32_t size() const override;
  const std::string& token(std::int32_t id) const override;
  std::int32_t unknown() const override;
  bool continues_word(std::int32_t id) const override;
  void encode(std::string_view utf8, std::vector<std::int32_t>& ids) const override;
  std::vector<TokenSpan> encode_with_offsets(std::string_view utf8) const override;
  bool has_character(std::string_view character) const override;
  bool composes() const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  // Returns the text as the model normalizes it, with spaces as U+2581.
  std::string normalized(std::string_view utf8) const;

 private:
  void encode_words(std::string_view utf8, std::vector<std::int32_t>& ids) const;

  std::string path_;
  std::shared_ptr<const Segmenter> segmenter_;  // null: text is taken as it is
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace smelt
