// UTF-8 and white space functions that behave like Python 3, in which the original programs are
// written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace smelt::text {

// Returns the text without ill-formed bytes, as Python's bytes.decode("utf-8", "ignore") does, and
// counts them.
std::string decode_utf8_ignore(std::string_view bytes, std::size_t* dropped_bytes);

// Replaces each run of ill-formed bytes by U+FFFD. Used for file names, which may be any bytes, in
// messages and JSON.
std::string replace_ill_formed(std::string_view bytes);

// Returns the code points of UTF-8 text; ill-formed bytes are skipped.
std::u32string to_code_points(std::string_view utf8);
void append_utf8(char32_t code_point, std::string& out);
// Returns whether the byte of UTF-8 is not the first of its character.
inline bool continues_character(char byte) { return (byte & 0xC0) == 0x80; }

// Returns whether the character's script puts no spaces between words: Han, kana, Thai, Lao, Khmer,
// Burmese, Tibetan and others. Also true for CJK punctuation.
bool is_written_without_spaces(char32_t code_point);
// Returns whether the character is a Tibetan mark that ends a sentence (U+0F0D to U+0F11).
constexpr bool is_tibetan_end_mark(char32_t c) { return c >= 0x0F0D && c <= 0x0F11; }
// Returns whether to join the two lines of UTF-8 without a space: both adjoining characters belong
// to scripts that do not separate words by spaces, and the first is not a Tibetan sentence mark.
bool joins_without_space(std::string_view line, std::string_view next);

// Returns whether the text begins with Thai or Lao, which end sentences at spaces only.
bool puts_spaces_between_sentences(std::string_view text);

// Returns the first boundary between graphemes (a letter with its combining marks is one) that is
// not before byte `at` of the UTF-8 text.
std::size_t grapheme_end(std::string_view text, std::size_t at);

// Returns whether the UTF-8 text is in NFC.
bool is_nfc(std::string_view text);
// Normalizes the UTF-8 text to NFC. Fast if the text already is in NFC.
void to_nfc(std::string& text);
std::string nfc(std::string text);
// Returns the text with all letters in the same case (Unicode's full case folding), for
// comparisons.
std::string case_folded(std::string_view text);

bool is_ascii(std::string_view text);

// Returns Python's str.isspace() for one character: category Zs or bidirectional class WS, B or S.
bool is_python_space(char32_t code_point);
// Returns the text stripped as by Python's str.strip().
std::string_view python_strip(std::string_view utf8);

}  // namespace smelt::text
