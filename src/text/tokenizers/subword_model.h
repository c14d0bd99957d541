// The interface of models that split a word into pieces: unigram and byte-pair encoding. Results
// equal those of Hugging Face's tokenizers for the same model.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace smelt::text {

// A piece of a word: its id and the number of bytes it covers.
struct WordPart {
  std::int32_t id;
  std::uint32_t bytes;

  bool operator==(const WordPart&) const = default;
};

// Immutable and thread-safe.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;
  // Appends the pieces of one word, which must be well-formed UTF-8 unless the model is byte-level.
  // The pieces cover all bytes of the word, except unknown characters if a BPE model has no unknown
  // piece.
  virtual void encode(std::string_view word, std::vector<WordPart>& parts) const = 0;
};

}  // namespace smelt::text
