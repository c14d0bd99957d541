#include "text/tokenizers/added_tokens.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <utility>

#include "text/readers/unicode.h"
#include "text/tokenizers/mapped_text.h"
#include "text/tokenizers/text_normalizer.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::text {
namespace {

// Matches \w of a regular expression: letters, marks, decimal digits, connectors and joiners.
bool is_word_character(UChar32 c) {
  constexpr std::uint32_t kKinds = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  return c >= 0 && (u_hasBinaryProperty(c, UCHAR_ALPHABETIC) || (U_GET_GC_MASK(c) & kKinds) != 0 ||
                    u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL));
}

UChar32 character_before(std::string_view text, std::size_t at) {
  UChar32 c = -1;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  auto end = static_cast<std::int32_t>(at);
  if (at > 0) U8_PREV(bytes, 0, end, c);
  return c;
}

UChar32 character_at(std::string_view text, std::size_t at) {
  UChar32 c = -1;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  if (at < text.size()) U8_NEXT(bytes, at, text.size(), c);
  return c;
}

}  // namespace

void TokenFinder::add(std::string text, const AddedToken& token) {
  if (text.empty()) return;
  std::vector<std::size_t>& lengths = lengths_[static_cast<std::uint8_t>(text.front())];
  if (std::ranges::find(lengths, text.size()) == lengths.end()) lengths.push_back(text.size());
  std::ranges::sort(lengths, std::greater<>());
  tokens_.insert_or_assign(std::move(text), token);
}

const AddedToken* TokenFinder::find(std::string_view text, std::size_t at,
                                    std::size_t& length) const {
  for (const std::size_t bytes : lengths_[static_cast<std::uint8_t>(text[at])]) {
    if (bytes > text.size() - at) continue;
    const auto found = tokens_.find(std::string(text.substr(at, bytes)));
    if (found == tokens_.end()) continue;
    length = bytes;
    return &found->second;
  }
  return nullptr;
}

std::size_t white_space_begin(std::string_view text) {
  std::size_t begin = text.size();
  for (UChar32 c; (c = character_before(text, begin)) >= 0 && u_isUWhiteSpace(c) != 0;)
    begin -= static_cast<std::size_t>(U8_LENGTH(c));
  return begin;
}

bool TokenFinder::widen(const AddedToken& token, std::string_view text,
                        const CharacterTable* spaced, std::size_t done, std::size_t& begin,
                        std::size_t& end) {
  const auto joins = [&](UChar32 c) {
    if (!is_word_character(c)) return false;
    const bool alone =
        spaced != nullptr && (*spaced)[static_cast<char32_t>(c)].action == CharacterTable::alone;
    return !alone || (U_GET_GC_MASK(c) & U_GC_PC_MASK) != 0;
  };
  if (token.single_word && (joins(character_before(text, begin)) || joins(character_at(text, end))))
    return false;
  const auto is_space = [](UChar32 c) { return c >= 0 && u_isUWhiteSpace(c) != 0; };
  if (token.lstrip) begin = std::max(done, white_space_begin(text.substr(0, begin)));
  if (token.rstrip)
    for (UChar32 c; is_space(c = character_at(text, end));)
      end += static_cast<std::size_t>(U8_LENGTH(c));
  return true;
}

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, const CharacterTable& table,
                         bool nfc)
    : table_(table), nfc_(nfc) {
  for (const AddedToken& token : tokens) {
    if (is_special_token(token.content)) continue;
    if (token.normalized)
      normalized_.add(normalise(token.content, 0, token.content.size()).text, token);
    else
      as_written_.add(token.content, token);
  }
}

AddedTokens::Part AddedTokens::normalise(std::string_view source, std::size_t begin,
                                         std::size_t end) const {
  MappedText text = MappedText::of(source.substr(begin, end - begin), begin, true);
  if (nfc_) text = nfc_text(std::move(text));
  MappedText out = normalise_characters(table_, text);
  return {.text = std::move(out.text), .sources = std::move(out.sources)};
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view utf8) const {
  std::vector<Part> parts;
  as_written_.for_each(
      utf8, nullptr, [&](const AddedToken* token, std::size_t begin, std::size_t end) {
        if (token != nullptr)
          return parts.push_back({.id = token->id, .text = {}, .sources = {{begin, end}}});
        const Part whole = normalise(utf8, begin, end);
        const auto& sources = whole.sources;
        normalized_.for_each(
            whole.text, &table_, [&](const AddedToken* inner, std::size_t from, std::size_t to) {
              if (inner != nullptr)
                parts.push_back({.id = inner->id,
                                 .text = {},
                                 .sources = {{sources[from].first, sources[to - 1].second}}});
              else
                parts.push_back({.text = whole.text.substr(from, to - from),
                                 .sources = {sources.begin() + static_cast<std::ptrdiff_t>(from),
                                             sources.begin() + static_cast<std::ptrdiff_t>(to)}});
            });
      });
  return parts;
}

}  // namespace smelt::text
