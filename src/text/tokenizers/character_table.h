// What the original BERT's BasicTokenizer makes of every code point, computed once: most of its
// steps (cleaning, lower case, NFD without marks, splitting on punctuation) look at one code point
// at a time. The few that depend on their neighbours are `contextual`. Unicode properties are
// ICU's: for all code points of Unicode 14 they do what the original does under Python 3.11; of
// younger ones ICU may know the kind, where that Python takes them for letters.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer_options.h"

namespace smelt {

class CharacterTable {
 public:
  enum Action : std::uint8_t {
    skip,        // vanishes without ending a word
    space,       // ends a word
    alone,       // a word of its own: punctuation, Chinese
    letter,      // continues a word
    contextual,  // a capital sigma or a mark that may change places with the next: see
                 // read_contextual
    not_ascii,   // only in ascii(): the byte begins or continues a longer sequence
  };
  struct Entry {
    std::uint32_t action : 3;
    std::uint32_t characters : 3;  // code points of the replacement
    std::uint32_t length : 5;      // its bytes; 0: the code point stays as it is
    std::uint32_t offset : 21;     // into the replacements
  };

  // The table for these options, made at its first use and kept.
  static const CharacterTable& of(const TokenizerOptions& options);

  // By byte: what a letter becomes, which is more than any Action, or an Action.
  std::uint8_t ascii(std::uint8_t byte) const { return ascii_[byte]; }
  const Entry& operator[](char32_t code_point) const {
    return entries_[blocks_[code_point / kBlock] * kBlock + code_point % kBlock];
  }
  std::string_view replacement(Entry entry) const {
    return {replacements_.data() + entry.offset, entry.length};
  }

  // What the contextual code point at `at` and those after it that it depends on become, which is
  // no punctuation; moves `at` behind them.
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

}  // namespace smelt
