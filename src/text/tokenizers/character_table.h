// Precomputed results of the original BERT's BasicTokenizer for every code point. Most of its steps
// (cleaning, lower-casing, NFD without marks, splitting at punctuation) process one code point at a
// time. The few results that depend on neighbours are `contextual`. Unicode properties come from
// ICU. They match those of Python 3.11 for all code points of Unicode 14; Python 3.11 treats newer
// code points as letters, while ICU may know their category.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer_options.h"

namespace smelt::text {

class CharacterTable {
 public:
  enum Action : std::uint8_t {
    skip,    // dropped without ending a word
    space,   // ends a word
    alone,   // a separate word: punctuation, Chinese
    letter,  // continues a word
    // a capital sigma, or a mark that may be reordered with the next one: see read_contextual
    contextual,
    not_ascii,  // only in ascii(): the byte is part of a multi-byte sequence
  };
  struct Entry {
    std::uint32_t action : 3;
    std::uint32_t characters : 3;  // number of code points in the replacement
    std::uint32_t length : 5;      // bytes of the replacement; 0: the code point is kept
    std::uint32_t offset : 21;     // position of the replacement in replacements_
  };

  // Returns the table for these options. It is created at the first use and cached.
  static const CharacterTable& of(const TokenizerOptions& options);

  // Returns the replacement of an ASCII byte that continues a word, and the Action of any other
  // byte. Replacements are greater than every Action.
  std::uint8_t ascii(std::uint8_t byte) const { return ascii_[byte]; }
  const Entry& operator[](char32_t code_point) const {
    return entries_[blocks_[code_point / kBlock] * kBlock + code_point % kBlock];
  }
  std::string_view replacement(Entry entry) const {
    return {replacements_.data() + entry.offset, entry.length};
  }

  // Returns the replacement of the contextual code point at `at` together with the following code
  // points that it depends on, and moves `at` past them. The replacement contains no punctuation.
  std::u32string read_contextual(std::string_view text, std::size_t& at) const;

 private:
  static constexpr std::size_t kBlock = 128;

  explicit CharacterTable(const TokenizerOptions& options);
  std::u32string lower(char32_t code_point) const;
  bool vanishes(char32_t code_point) const;
  bool is_final_sigma(std::string_view text, std::size_t begin, std::size_t end) const;
  std::u32string expand(char32_t code_point) const;
  Entry make_entry(char32_t code_point);
  void add_block(char32_t first);

  TokenizerOptions options_;
  std::array<std::uint8_t, 256> ascii_;
  std::vector<std::uint16_t> blocks_;
  std::vector<Entry> entries_;
  std::string replacements_;
};

}  // namespace smelt::text
