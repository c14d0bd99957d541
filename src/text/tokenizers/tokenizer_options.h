// How a tokenizer of the BERT family normalises text before it cuts words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smelt {

constexpr std::size_t kMaxCharactersPerWord = 200;
// The limit of new vocabularies, which is that of transformers.
constexpr std::size_t kNewMaxCharactersPerWord = 100;

// Which characters vanish from a text; tab, line feed and carriage return are white space in both.
enum class ControlCharacters {
  bert,     // categories Cc and Cf
  electra,  // every category C*: also unassigned code points, surrogates and private use
};

// A token that is found in a text as a whole, before the text is split into words: Hugging Face's
// added tokens and their flags.
struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool single_word = false;  // only between characters that are no letters, digits or "_"
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space behind it
  bool normalized = true;    // found in the normalised text, in its own normalised form
  bool special = false;

  bool operator==(const AddedToken&) const = default;
};

struct TokenizerOptions {
  bool lower_case = true;
  std::optional<bool> strip_accents =
      {};  // NFD without marks, which takes Hangul apart into Jamo; unset: as lower_case
  ControlCharacters control = ControlCharacters::bert;
  bool split_chinese = true;  // every character of the original's Chinese blocks is a word
  std::size_t max_characters_per_word = kMaxCharactersPerWord;  // a longer word is [UNK]
  std::vector<AddedToken> added = {};                           // by id
  bool nfc = false;               // the text is normalised to NFC before anything else
  bool zero_width_space = false;  // U+200B is white space; false: it vanishes
  bool turkic_case = false;  // lower-casing turns I into ı and İ into i, as in Turkish and Azeri
  // The command that splits a text into words (text/tokenizers/segmenter.h) before anything but
  // NFC; empty: none.
  std::string segment_command = {};

  bool strips_accents() const { return strip_accents.value_or(lower_case); }
  bool operator==(const TokenizerOptions&) const = default;
};

}  // namespace smelt
