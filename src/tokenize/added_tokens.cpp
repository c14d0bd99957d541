#include "tokenize/added_tokens.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <utility>

#include "text/unicode.h"
#include "tokenize/vocabulary.h"

namespace smelt {
namespace {

// \w of a regular expression: letters, marks, decimal digits, connectors and joiners.
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

void AddedTokens::Set::add(std::string text, const AddedToken& token) {
  if (text.empty()) return;
  std::vector<std::size_t>& lengths = lengths_[static_cast<std::uint8_t>(text.front())];
  if (std::ranges::find(lengths, text.size()) == lengths.end()) lengths.push_back(text.size());
  std::ranges::sort(lengths, std::greater<>());
  tokens_.insert_or_assign(std::move(text), token);
}

const AddedToken* AddedTokens::Set::find(std::string_view text, std::size_t at,
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

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, const CharacterTable& table)
    : table_(table) {
  for (const AddedToken& token : tokens) {
    if (is_special_token(token.content)) continue;
    if (token.normalized)
      normalized_.add(normalise(token.content, 0, token.content.size()).text, token);
    else
      as_written_.add(token.content, token);
  }
}

// As words are scanned (tokenize/word_scanner.h), but white space stays as spaces.
AddedTokens::Part AddedTokens::normalise(std::string_view source, std::size_t begin,
                                         std::size_t end) const {
  Part out;
  const std::string_view text = source.substr(0, end);
  const auto append = [&](std::string_view bytes, std::size_t from, std::size_t to) {
    out.text += bytes;
    out.sources.resize(out.text.size(), {from, to});
  };
  for (std::size_t at = begin; at < end;) {
    const std::size_t from = at;
    UChar32 c;
    U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.data()), at, end, c);
    if (c < 0) continue;
    const CharacterTable::Entry entry = table_[static_cast<char32_t>(c)];
    if (entry.action == CharacterTable::skip) continue;
    if (entry.action == CharacterTable::contextual) {
      at = from;
      std::string bytes;
      for (const char32_t each : table_.read_contextual(text, at)) append_utf8(each, bytes);
      append(bytes, from, at);
    } else if (entry.action == CharacterTable::space) {
      append(" ", from, at);
    } else {
      append(entry.length == 0 ? text.substr(from, at - from) : table_.replacement(entry), from,
             at);
    }
  }
  return out;
}

// Calls emit(token or null, begin, end) for the tokens and what is between them, in order.
template <class Emit>
void AddedTokens::find_all(const Set& set, std::string_view text, const Emit& emit) const {
  // Chinese characters have spaces around them in Hugging Face's normalised text.
  const auto joins = [&](UChar32 c) {
    if (!is_word_character(c)) return false;
    const bool alone = table_[static_cast<char32_t>(c)].action == CharacterTable::alone;
    return &set != &normalized_ || !alone || (U_GET_GC_MASK(c) & U_GC_PC_MASK) != 0;
  };
  std::size_t done = 0;
  for (std::size_t at = 0, length = 0; at < text.size();) {
    const AddedToken* token = set.find(text, at, length);
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + length;
    at = end;
    if (token->single_word &&
        (joins(character_before(text, begin)) || joins(character_at(text, end))))
      continue;
    if (token->lstrip)
      while (begin > done && text[begin - 1] == ' ') --begin;
    if (token->rstrip)
      while (end < text.size() && text[end] == ' ') ++end;
    if (begin > done) emit(nullptr, done, begin);
    emit(token, begin, end);
    done = at = end;
  }
  if (done < text.size()) emit(nullptr, done, text.size());
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view utf8) const {
  std::vector<Part> parts;
  find_all(as_written_, utf8, [&](const AddedToken* token, std::size_t begin, std::size_t end) {
    if (token != nullptr)
      return parts.push_back({.id = token->id, .text = {}, .sources = {{begin, end}}});
    const Part whole = normalise(utf8, begin, end);
    const auto& sources = whole.sources;
    find_all(normalized_, whole.text,
             [&](const AddedToken* inner, std::size_t from, std::size_t to) {
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

}  // namespace smelt
