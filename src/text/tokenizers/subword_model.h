// Models that split a word into pieces: unigram and byte-pair encoding. Both give the pieces that
// Hugging Face's tokenizers give for the same model.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace smelt {

// A piece of a word: its id and the number of the word's bytes that it stands for.
struct WordPart {
  std::int32_t id;
  std::uint32_t bytes;

  bool operator==(const WordPart&) const = default;
};

// Immutable: one may serve several threads.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;
  // Appends the pieces of one word, which is well-formed UTF-8 unless the model is byte-level.
  // Their bytes add up to the word's, except that a BPE model without an unknown piece leaves out
  // characters that it does not know.
  virtual void encode(std::string_view word, std::vector<WordPart>& parts) const = 0;
};

}  // namespace smelt
