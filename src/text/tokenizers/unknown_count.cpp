#include "text/tokenizers/unknown_count.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "base/str.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::text {
namespace {

std::string text_of_character(char32_t character) {
  std::string out;
  append_utf8(character, out);
  return out;
}

// Returns "; characters without a piece: ㎏ (312), …", the most frequent ones first.
std::string listed_characters(const CharacterCounts& counts) {
  constexpr std::size_t kShown = 10;
  std::vector<std::pair<char32_t, std::uint64_t>> order(counts.begin(), counts.end());
  std::ranges::stable_sort(order, [](auto& a, auto& b) { return a.second > b.second; });
  std::vector<std::string> shown;
  for (const auto& [character, count] : order)
    if (shown.size() < kShown) shown.push_back(str(text_of_character(character), " (", count, ")"));
  if (shown.empty()) return "";
  return str("; characters without a piece: ", join(shown, ", "),
             order.size() > kShown ? ", …" : "");
}

}  // namespace

std::uint64_t count_unknown_characters(std::string_view text, const Tokenizer& tokenizer,
                                       CharacterCounts& counts) {
  std::uint64_t all = 0;
  // Composes first, because offsets exclude marks that composition merges.
  const std::string composed = tokenizer.composes() ? nfc(std::string(text)) : std::string(text);
  for (const TokenSpan& span : tokenizer.encode_with_offsets(composed)) {
    if (span.id != tokenizer.unknown()) continue;
    const auto word =
        to_code_points(std::string_view(composed).substr(span.begin, span.end - span.begin));
    all += word.size();
    for (const char32_t c : word)
      if (!is_python_space(c) && !tokenizer.has_character(text_of_character(c))) ++counts[c];
  }
  return all;
}

void count_unknown_characters(std::string_view text, std::string_view pair,
                              const Tokenizer& tokenizer, CharacterCounts& counts) {
  for (const std::string_view one : {text, pair}) count_unknown_characters(one, tokenizer, counts);
}

TextCount count_text(std::string_view text, std::span<const std::int32_t> ids,
                     const Tokenizer& tokenizer, CharacterCounts& counts) {
  TextCount out{
      .unknown_tokens = static_cast<std::uint64_t>(std::ranges::count(ids, tokenizer.unknown())),
      .known_characters = characters(text)};
  if (out.unknown_tokens > 0)
    out.known_characters -=
        std::min(out.known_characters, count_unknown_characters(text, tokenizer, counts));
  return out;
}

void add_counts(const CharacterCounts& more, CharacterCounts& counts) {
  for (const auto& [character, count] : more) counts[character] += count;
}

void UnknownCount::add(std::span<const std::int32_t> ids, std::int32_t unknown_id) {
  tokens += ids.size();
  unknown += static_cast<std::uint64_t>(std::ranges::count(ids, unknown_id));
}

void UnknownCount::add(std::string_view text, std::span<const std::int32_t> ids,
                       const Tokenizer& tokenizer) {
  tokens += ids.size();
  unknown += count_text(text, ids, tokenizer, characters).unknown_tokens;
}

// Returns whether case may be why words are unknown: some character is cased, or all characters are
// known.
static bool has_case(const CharacterCounts& characters) {
  return characters.empty() || std::ranges::any_of(characters, [](const auto& counted) {
           const auto c = static_cast<UChar32>(counted.first);
           return u_tolower(c) != u_toupper(c);
         });
}

void UnknownCount::warn(std::string_view what, std::string_view vocab) const {
  if (unknown < 2 || unknown * 100 <= tokens) return;
  const bool is_sentencepiece = is_sentencepiece_file(std::string(vocab));
  log_warning(
      "{}: {} % of the tokens are unknown ({}): {} does not have their pieces{}\n  hint: {}", what,
      rounded(100 * share(unknown, tokens), 1), is_sentencepiece ? "<unk>" : "[UNK]", vocab,
      listed_characters(characters),
      is_sentencepiece
          ? "check that the vocabulary is of the text's language; train it with a higher "
            "--coverage (vocab.coverage) or with --byte-fallback (vocab.byte_fallback)"
      : has_case(characters)
          ? "check that the vocabulary is of the text's language and case (--cased, --lower-case)"
          : "check that the vocabulary is of the text's language; train it with a larger "
            "vocab.size "
            "or with vocab.type byte_bpe");
}

}  // namespace smelt::text
