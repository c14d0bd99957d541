#include "text/tokenizers/character_table.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <mutex>
#include <span>

#include "base/error.h"
#include "base/number_format.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

constexpr char32_t kCapitalSigma = U'Σ', kSmallSigma = U'σ', kFinalSigma = U'ς';
constexpr char32_t kReplacementCharacter = 0xFFFD, kCodePoints = 0x110000;
constexpr char32_t kZeroWidthSpace = 0x200B, kDottedCapitalI = 0x130, kDotlessI = 0x131;

const icu::Normalizer2& nfd() {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFDInstance(status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  return *normalizer;
}

std::uint32_t category(char32_t c) { return U_MASK(u_charType(static_cast<UChar32>(c))); }

bool is_punctuation(char32_t c) {
  if (c < 128)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
           (c >= 123 && c <= 126);
  return (category(c) & U_GC_P_MASK) != 0;
}

bool is_tab_or_newline(char32_t c) { return c == '\t' || c == '\n' || c == '\r'; }

// Returns whether the character is in a block that BERT's BasicTokenizer treats as Chinese.
bool is_chinese(char32_t c) {
  constexpr std::array<std::pair<char32_t, char32_t>, 8> kBlocks{{{0x4E00, 0x9FFF},
                                                                  {0x3400, 0x4DBF},
                                                                  {0x20000, 0x2A6DF},
                                                                  {0x2A700, 0x2B73F},
                                                                  {0x2B740, 0x2B81F},
                                                                  {0x2B820, 0x2CEAF},
                                                                  {0xF900, 0xFAFF},
                                                                  {0x2F800, 0x2FA1F}}};
  return std::ranges::any_of(kBlocks, [&](auto b) { return c >= b.first && c <= b.second; });
}

void append_decomposition(char32_t c, std::u32string& out) {
  icu::UnicodeString decomposition;
  if (!nfd().getDecomposition(static_cast<UChar32>(c), decomposition)) {
    out.push_back(c);
    return;
  }
  for (std::int32_t i = 0; i < decomposition.length(); i = decomposition.moveIndex32(i, 1))
    out.push_back(static_cast<char32_t>(decomposition.char32At(i)));
}

bool is_mark(char32_t c) { return category(c) == U_GC_MN_MASK; }
std::uint8_t combining_class(char32_t c) { return u_getCombiningClass(static_cast<UChar32>(c)); }

// Returns the code point at `at` and moves `at` past it; negative for ill-formed bytes.
UChar32 next_code_point(std::string_view text, std::size_t& at) {
  UChar32 c;
  U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.data()), at, text.size(), c);
  return c;
}

}  // namespace

const CharacterTable& CharacterTable::of(const TokenizerOptions& options) {
  static std::array<std::once_flag, 64> made;
  static std::array<const CharacterTable*, 64> tables;  // never freed
  const std::size_t which = (options.lower_case ? 1 : 0) + (options.strips_accents() ? 2 : 0) +
                            (options.control == ControlCharacters::bert ? 4 : 0) +
                            (options.split_chinese ? 8 : 0) + (options.zero_width_space ? 16 : 0) +
                            (options.turkic_case ? 32 : 0);
  std::call_once(made[which], [&] { tables[which] = new CharacterTable(options); });
  return *tables[which];
}

CharacterTable::CharacterTable(const TokenizerOptions& options)
    : options_(options), blocks_(kCodePoints / kBlock) {
  for (char32_t first = 0; first < kCodePoints; first += kBlock) add_block(first);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const Entry entry = (*this)[byte];
    ascii_[byte] = entry.action;
    if (entry.action == letter) ascii_[byte] = entry.length == 0 ? byte : replacement(entry)[0];
    // A Turkish I becomes two bytes, which an ASCII entry cannot store.
    if (byte >= 128 || entry.length > 1) ascii_[byte] = not_ascii;
  }
}

// Stores equal blocks only once.
void CharacterTable::add_block(char32_t first) {
  const std::size_t begin = entries_.size();
  for (char32_t c = first; c < first + kBlock; ++c) entries_.push_back(make_entry(c));
  const auto same = [](Entry a, Entry b) {
    return a.action == b.action && a.characters == b.characters && a.length == b.length &&
           a.offset == b.offset;
  };
  const auto block = [&](std::size_t at) { return std::span(entries_).subspan(at, kBlock); };
  for (std::size_t old = 0; old < begin; old += kBlock)
    if (std::ranges::equal(block(begin), block(old), same)) {
      entries_.resize(begin);
      blocks_[first / kBlock] = old / kBlock;
      return;
    }
  blocks_[first / kBlock] = begin / kBlock;
}

bool CharacterTable::vanishes(char32_t c) const {
  if (c == 0 || c == kReplacementCharacter) return true;
  if (is_tab_or_newline(c) || (c == kZeroWidthSpace && options_.zero_width_space)) return false;
  return (category(c) & (options_.control == ControlCharacters::bert ? U_GC_CC_MASK | U_GC_CF_MASK
                                                                     : U_GC_C_MASK)) != 0;
}

// Returns the lower case of a single character. Only U+0130 becomes two characters.
std::u32string CharacterTable::lower(char32_t c) const {
  if (c == 'I' && options_.turkic_case) return {kDotlessI};
  if (c == kDottedCapitalI && options_.turkic_case) return {'i'};
  if (c == kDottedCapitalI) return {'i', 0x307};
  return {static_cast<char32_t>(u_tolower(static_cast<UChar32>(c)))};
}

// Returns whether Python's str.lower() makes this sigma final: after a cased letter and not before
// one, ignoring case-ignorable characters.
bool CharacterTable::is_final_sigma(std::string_view text, std::size_t begin,
                                    std::size_t end) const {
  const auto looked_through = [&](UChar32 c) {
    if (c == kZeroWidthSpace && options_.zero_width_space) return false;
    return c < 0 || vanishes(static_cast<char32_t>(c)) ||
           u_hasBinaryProperty(c, UCHAR_CASE_IGNORABLE);
  };
  UChar32 c = -1;
  while (begin > 0 && looked_through(c)) {
    while (--begin > 0 && U8_IS_TRAIL(text[begin])) {
    }
    std::size_t at = begin;
    c = next_code_point(text, at);
  }
  if (looked_through(c) || !u_hasBinaryProperty(c, UCHAR_CASED)) return false;
  c = -1;
  while (end < text.size() && looked_through(c)) c = next_code_point(text, end);
  return looked_through(c) || !u_hasBinaryProperty(c, UCHAR_CASED);
}

// Returns the code point lower-cased and decomposed without marks, as the options require.
std::u32string CharacterTable::expand(char32_t code_point) const {
  std::u32string lowered = options_.lower_case ? lower(code_point) : std::u32string(1, code_point);
  if (!options_.strips_accents()) return lowered;
  std::u32string expanded;
  for (const char32_t c : lowered) append_decomposition(c, expanded);
  std::erase_if(expanded, is_mark);
  return expanded;
}

CharacterTable::Entry CharacterTable::make_entry(char32_t c) {
  Entry entry{.action = letter, .characters = 1, .length = 0, .offset = 0};
  const auto as = [&](Action action) {
    entry.action = action;
    return entry;
  };
  if (vanishes(c) || U_IS_SURROGATE(c)) return as(skip);
  const bool chinese = options_.split_chinese && is_chinese(c);
  if (!chinese && (category(c) & (U_GC_CN_MASK | U_GC_CO_MASK)) != 0)
    return entry;  // most code points take this path
  if (is_tab_or_newline(c) || is_python_space(c) || c == kZeroWidthSpace) return as(space);
  if (c == kCapitalSigma && options_.lower_case) return as(contextual);
  const std::u32string expanded = expand(c);
  if (expanded.empty()) return as(skip);
  if (options_.strips_accents() && std::ranges::any_of(expanded, combining_class))
    return as(contextual);
  const bool splits = std::ranges::any_of(expanded, is_punctuation);
  CHECK(!splits || expanded.size() == 1, "U+", hex(static_cast<std::uint32_t>(c)),
        " is punctuation and more");
  if (splits || chinese) entry.action = alone;
  entry.characters = expanded.size();
  if (expanded.size() == 1 && expanded[0] == c) return entry;
  entry.offset = replacements_.size();
  for (const char32_t e : expanded) append_utf8(e, replacements_);
  entry.length = replacements_.size() - entry.offset;
  return entry;
}

std::u32string CharacterTable::read_contextual(std::string_view text, std::size_t& at) const {
  const std::size_t begin = at;
  UChar32 c = next_code_point(text, at);
  if (c == kCapitalSigma && options_.lower_case)
    return {is_final_sigma(text, begin, at) ? kFinalSigma : kSmallSigma};
  // Puts marks into canonical order, up to the next character that they cannot be moved across.
  icu::UnicodeString run;
  for (std::size_t end = at;;) {
    if (c >= 0 && !vanishes(static_cast<char32_t>(c))) {
      if (!run.isEmpty() && nfd().hasBoundaryBefore(c)) break;
      for (const char32_t e : options_.lower_case ? lower(c) : std::u32string(1, c))
        run.append(static_cast<UChar32>(e));
      at = end;
    }
    if (end == text.size()) break;
    c = next_code_point(text, end);
  }
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeString ordered = nfd().normalize(run, status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  std::u32string kept;
  for (std::int32_t i = 0; i < ordered.length(); i = ordered.moveIndex32(i, 1))
    if (!is_mark(ordered.char32At(i))) kept.push_back(ordered.char32At(i));
  return kept;
}

}  // namespace smelt::text
