// SentencePiece models (Kudo and Richardson 2018), unigram or BPE, such as T5's spiece.model,
// applied by the SentencePiece library.
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

namespace smelt::text {

class Segmenter;

// Returns the first id at which two serialized models have different pieces, or -1 if they have the
// same pieces in the same order. Other settings of the models are ignored.
std::int64_t first_different_piece(std::string_view model, std::string_view other);

class SentencePieceTokenizer final : public Tokenizer {
 public:
  // Reads a *.model, or a tokenizer.json (text/tokenizers/unigram_json.h). `begins_with_space` is
  // whether a text gets the space sign before its first piece, and `keeps_spaces` whether leading,
  // trailing and repeated spaces are kept; both default to the model's setting. Only
  // segment_command of `flags` is used. Throws UsageError if the file is missing or not such a
  // model.
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
  // Returns the text as normalized by the model, with spaces as U+2581.
  std::string normalized(std::string_view utf8) const;

 private:
  void encode_words(std::string_view utf8, std::vector<std::int32_t>& ids) const;

  std::string path_;
  std::shared_ptr<const Segmenter> segmenter_;  // null if the text is not segmented
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace smelt::text
