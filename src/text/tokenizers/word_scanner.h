// Normalizes a text and splits it into words in one pass. All tokenizers of the BERT family use it.
#pragma once

#include <unicode/utf8.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "text/readers/unicode.h"
#include "text/tokenizers/character_table.h"

namespace smelt::text {

// Passes the words of one text to `sink`; ill-formed UTF-8 is skipped. A Sink has
//   from(begin, end)          sets the source bytes of the following append calls
//   append(byte)              appends an ASCII character to the word
//   append(bytes, characters) appends `characters` characters to the word
//   end_word()                ends the word, if there is one
template <class Sink>
class WordScanner {
 public:
  WordScanner(const CharacterTable& table, std::string_view text, Sink& sink)
      : table_(table), text_(text), sink_(sink) {}

  void scan() {
    std::size_t at = 0;
    while (at < text_.size()) {
      const auto byte = static_cast<std::uint8_t>(text_[at]);
      const std::uint8_t code = table_.ascii(byte);
      if (code == CharacterTable::not_ascii || code == CharacterTable::contextual) {
        scan_code_point(at);
        continue;
      }
      sink_.from(at, at + 1);
      ++at;
      if (code > CharacterTable::not_ascii) {
        sink_.append(code);
      } else if (code == CharacterTable::alone) {
        sink_.end_word();
        sink_.append(byte);
        sink_.end_word();
      } else if (code == CharacterTable::space) {
        sink_.end_word();
      }
    }
    sink_.end_word();
  }

 private:
  void scan_code_point(std::size_t& at) {
    const std::size_t begin = at;
    UChar32 c;
    U8_NEXT(reinterpret_cast<const std::uint8_t*>(text_.data()), at, text_.size(), c);
    if (c < 0) return;
    const CharacterTable::Entry entry = table_[static_cast<char32_t>(c)];
    if (entry.action == CharacterTable::skip) return;
    if (entry.action == CharacterTable::contextual) return scan_contextual(at = begin);
    if (entry.action != CharacterTable::letter) sink_.end_word();
    if (entry.action == CharacterTable::space) return;
    sink_.from(begin, at);
    sink_.append(entry.length == 0 ? text_.substr(begin, at - begin) : table_.replacement(entry),
                 entry.characters);
    if (entry.action == CharacterTable::alone) sink_.end_word();
  }

  void scan_contextual(std::size_t& at) {
    const std::size_t begin = at;
    const std::u32string replacement = table_.read_contextual(text_, at);
    sink_.from(begin, at);
    std::string bytes;
    for (const char32_t c : replacement) append_utf8(c, bytes);
    sink_.append(bytes, replacement.size());
  }

  const CharacterTable& table_;
  const std::string_view text_;
  Sink& sink_;
};

template <class Sink>
void scan_words(const CharacterTable& table, std::string_view text, Sink& sink) {
  WordScanner<Sink>(table, text, sink).scan();
}

// Calls emit(word) for every word of at most `longest` characters, and emit_long(prefix) for every
// longer one. A long word may be as long as a file, so only its first characters are stored.
template <class Emit, class EmitLong>
void for_each_word(const CharacterTable& table, std::string_view text, std::size_t longest,
                   const Emit& emit, const EmitLong& emit_long) {
  struct Sink {
    const Emit& emit;
    const EmitLong& emit_long;
    std::size_t longest, characters = 0;
    std::string word = {};

    void from(std::size_t, std::size_t) {}
    void append(std::uint8_t byte) {
      if (++characters <= longest) word += static_cast<char>(byte);
    }
    void append(std::string_view bytes, std::size_t count) {
      if ((characters += count) <= longest) word += bytes;
    }
    void end_word() {
      if (characters > longest)
        emit_long(word);
      else if (!word.empty())
        emit(word);
      word.clear();
      characters = 0;
    }
  } sink{.emit = emit, .emit_long = emit_long, .longest = longest};
  scan_words(table, text, sink);
}

template <class Emit>
void for_each_word(const CharacterTable& table, std::string_view text, std::size_t longest,
                   const Emit& emit) {
  for_each_word(table, text, longest, emit, [](std::string_view) {});
}

}  // namespace smelt::text
