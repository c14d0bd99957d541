// Splits a text at its added tokens, as Hugging Face's tokenizers do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenize/character_table.h"
#include "tokenize/tokenizer_options.h"

namespace smelt {

// Immutable: one may serve several threads.
class AddedTokens {
 public:
  // A token, or text between tokens.
  struct Part {
    std::int32_t id = -1;  // of the token; -1: text
    std::string text;      // normalised; of a token empty
    // By byte of the text: where it is from in the source, [begin, end).
    // Of a token: its one source.
    std::vector<std::pair<std::size_t, std::size_t>> sources;
  };

  // The special tokens of BERT are not looked for (kSpecialTokens in vocabulary.h).
  AddedTokens(const std::vector<AddedToken>& tokens, const CharacterTable& table);

  bool empty() const { return as_written_.empty() && normalized_.empty(); }
  // First the tokens that are found in the text as it is, leftmost and longest first; then, in the
  // rest, those that are found in the normalised text.
  std::vector<Part> split(std::string_view utf8) const;

 private:
  // Tokens by what is looked for.
  class Set {
   public:
    void add(std::string text, const AddedToken& token);
    bool empty() const { return tokens_.empty(); }
    // The longest token that begins at `at`, and its length; null if there is none.
    const AddedToken* find(std::string_view text, std::size_t at, std::size_t& length) const;

   private:
    std::unordered_map<std::string, AddedToken> tokens_;
    std::array<std::vector<std::size_t>, 256> lengths_;  // by first byte, longest first
  };

  Part normalise(std::string_view source, std::size_t begin, std::size_t end) const;
  template <class Emit>
  void find_all(const Set& set, std::string_view text, const Emit& emit) const;

  const CharacterTable& table_;
  Set as_written_, normalized_;
};

}  // namespace smelt
