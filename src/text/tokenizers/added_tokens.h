// Splits a text at its added tokens, as Hugging Face's tokenizers do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/tokenizers/character_table.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt {

// Returns where the white space at the text's end begins; the text's size if it ends with none.
std::size_t white_space_begin(std::string_view text);

// Finds tokens in a text, leftmost and longest first, by their flags.
class TokenFinder {
 public:
  // Looks for `text` as the token; an empty one is never found.
  void add(std::string text, const AddedToken& token);
  bool empty() const { return tokens_.empty(); }
  // Calls emit(token or null, begin, end) for the tokens and what is between them, in order. With
  // `spaced`, the characters that stand alone in that table have spaces around them, as Chinese
  // characters have in Hugging Face's normalised text.
  template <class Emit>
  void for_each(std::string_view text, const CharacterTable* spaced, const Emit& emit) const;

 private:
  // The longest token that begins at `at`, and its length; null if there is none.
  const AddedToken* find(std::string_view text, std::size_t at, std::size_t& length) const;
  // Sets the range that a token takes; false if its flags forbid it there. `done`: the end of the
  // token before.
  static bool widen(const AddedToken& token, std::string_view text, const CharacterTable* spaced,
                    std::size_t done, std::size_t& begin, std::size_t& end);

  std::unordered_map<std::string, AddedToken> tokens_;
  std::array<std::vector<std::size_t>, 256> lengths_;  // by first byte, longest first
};

template <class Emit>
void TokenFinder::for_each(std::string_view text, const CharacterTable* spaced,
                           const Emit& emit) const {
  std::size_t done = 0;
  for (std::size_t at = 0, length = 0; at < text.size() && !empty();) {
    const AddedToken* token = find(text, at, length);
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + length;
    at = end;
    if (!widen(*token, text, spaced, done, begin, end)) continue;
    if (begin > done) emit(nullptr, done, begin);
    emit(token, begin, end);
    done = at = end;
  }
  if (done < text.size()) emit(nullptr, done, text.size());
}

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
  AddedTokens(const std::vector<AddedToken>& tokens, const CharacterTable& table, bool nfc);

  bool empty() const { return as_written_.empty() && normalized_.empty(); }
  // First the tokens that are found in the text as it is, leftmost and longest first; then, in the
  // rest, those that are found in the normalised text.
  std::vector<Part> split(std::string_view utf8) const;

 private:
  Part normalise(std::string_view source, std::size_t begin, std::size_t end) const;

  const CharacterTable& table_;
  bool nfc_;
  TokenFinder as_written_, normalized_;
};

}  // namespace smelt
