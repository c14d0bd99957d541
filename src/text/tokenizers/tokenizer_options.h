// How a tokenizer of the BERT family normalizes text before it splits words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smelt::text {

constexpr std::size_t kMaxCharactersPerWord = 200;
// The limit of new vocabularies, equal to that of transformers.
constexpr std::size_t kNewMaxCharactersPerWord = 100;

// The characters to drop from a text. Both kinds treat tab, line feed and carriage return as white
// space instead.
enum class ControlCharacters {
  bert,  // categories Cc and Cf
  // all categories C*: also unassigned code points, surrogates and private use
  electra,
};

// A token that is found in a text as a whole before the text is split into words, with the flags of
// Hugging Face's added tokens.
struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool single_word = false;  // match only between characters other than letters, digits and "_"
  bool lstrip = false;       // include white space before it
  bool rstrip = false;       // include white space after it
  bool normalized = true;    // match its normalized form in the normalized text
  bool special = false;

  bool operator==(const AddedToken&) const = default;
};

struct TokenizerOptions {
  bool lower_case = true;
  std::optional<bool> strip_accents =
      // NFD without marks, which also splits Hangul into Jamo; unset: same as lower_case
      {};
  ControlCharacters control = ControlCharacters::bert;
  bool split_chinese = true;  // each character of BERT's Chinese blocks is a word
  std::size_t max_characters_per_word = kMaxCharactersPerWord;  // longer words become [UNK]
  std::vector<AddedToken> added = {};                           // by id
  bool nfc = false;                                             // normalize the text to NFC first
  bool zero_width_space = false;  // U+200B is white space; false: it is dropped
  bool turkic_case = false;       // lower-case I to ı and İ to i, as in Turkish and Azeri
  // The command that splits a text into words after NFC and before everything else
  // (text/tokenizers/segmenter.h). Empty: none.
  std::string segment_command = {};

  bool strips_accents() const { return strip_accents.value_or(lower_case); }
  bool operator==(const TokenizerOptions&) const = default;
};

}  // namespace smelt::text
