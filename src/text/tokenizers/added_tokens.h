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

namespace smelt::text {

// Returns where the trailing white space of the text begins, or its size if the text has none.
std::size_t white_space_begin(std::string_view text);

// Finds added tokens in a text, leftmost and longest first, according to their flags.
class TokenFinder {
 public:
  // Adds a token that is spelled `text`. An empty text is never found.
  void add(std::string text, const AddedToken& token);
  bool empty() const { return tokens_.empty(); }
  // Calls emit(token, begin, end) for each token, and with a null token for the text in between, in
  // order. If `spaced` is set, characters that are separate words in that table are treated as
  // surrounded by spaces, as Chinese characters are in Hugging Face's normalized text.
  template <class Emit>
  void for_each(std::string_view text, const CharacterTable* spaced, const Emit& emit) const;

 private:
  // Returns the longest token that begins at `at` and sets `length`; null if no token matches.
  const AddedToken* find(std::string_view text, std::size_t at, std::size_t& length) const;
  // Extends the match [begin, end) of a token by adjacent white space if its flags require this,
  // but not to before `done`, the end of the previous token. Returns false if the flag single_word
  // does not allow the match.
  static bool widen(const AddedToken& token, std::string_view text, const CharacterTable* spaced,
                    std::size_t done, std::size_t& begin, std::size_t& end);

  std::unordered_map<std::string, AddedToken> tokens_;
  // Lengths of the tokens by first byte, longest first.
  std::array<std::vector<std::size_t>, 256> lengths_;
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

// Finds the added tokens of a vocabulary. Immutable and thread-safe.
class AddedTokens {
 public:
  // A token, or text between tokens.
  struct Part {
    std::int32_t id = -1;  // token id; -1 for text
    std::string text;      // normalized text; empty for a token
    // Source range [begin, end) of each byte of the text. A token has one range.
    std::vector<std::pair<std::size_t, std::size_t>> sources;
  };

  // BERT's special tokens (kSpecialTokens in vocabulary.h) are not matched.
  AddedTokens(const std::vector<AddedToken>& tokens, const CharacterTable& table, bool nfc);

  bool empty() const { return as_written_.empty() && normalized_.empty(); }
  // Splits the text at the added tokens. Tokens that match the original text are found first,
  // leftmost and longest first; tokens that match the normalized text are found in what remains.
  std::vector<Part> split(std::string_view utf8) const;

 private:
  Part normalise(std::string_view source, std::size_t begin, std::size_t end) const;

  const CharacterTable& table_;
  bool nfc_;
  TokenFinder as_written_, normalized_;
};

}  // namespace smelt::text
