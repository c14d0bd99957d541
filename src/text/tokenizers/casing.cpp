#include "text/tokenizers/casing.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>

#include <algorithm>

#include "base/log.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::text {
namespace {

// Returns whether normalization changes the character, so that no normalized text contains it.
bool is_changed(char32_t character, const TokenizerOptions& options) {
  const auto c = static_cast<UChar32>(character);
  return (options.lower_case && u_tolower(c) != c) ||
         (options.strips_accents() &&
          (u_charType(c) == U_NON_SPACING_MARK ||
           u_getIntPropertyValue(c, UCHAR_NFD_QUICK_CHECK) == UNORM_NO));
}

}  // namespace

std::size_t lost_pieces(const Vocabulary& vocabulary, const TokenizerOptions& options) {
  return static_cast<std::size_t>(
      std::ranges::count_if(vocabulary.pieces(), [&](const std::string& piece) {
        return !piece.starts_with('[') &&
               std::ranges::any_of(to_code_points(piece),
                                   [&](char32_t c) { return is_changed(c, options); });
      }));
}

bool is_lost(const Vocabulary& vocabulary, const TokenizerOptions& options) {
  return lost_pieces(vocabulary, options) * 100 > static_cast<std::size_t>(vocabulary.size());
}

TokenizerFlags case_of(const Vocabulary& vocabulary, TokenizerFlags flags) {
  if (flags.lower_case) return flags;
  TokenizerOptions options = options_of(flags);
  options.lower_case = true;
  flags.lower_case = !is_lost(vocabulary, options);
  if (*flags.lower_case || flags.strip_accents || flags.control != ControlCharacters::electra)
    return flags;
  options.strip_accents = false;
  if (lost_pieces(vocabulary, options) > 0) return flags;
  flags.lower_case = true;
  flags.strip_accents = false;
  return flags;
}

TokenizerFlags with_vocabulary_options(TokenizerFlags flags, const std::string& vocab,
                                       std::optional<ControlCharacters> control) {
  if (is_sentencepiece_file(vocab) || load_tokenizer_config(vocab)) return flags;
  if (!flags.control) flags.control = control;
  return case_of(Vocabulary::load(vocab), flags);
}

void warn_of_case(const Vocabulary& vocabulary, const TokenizerOptions& options,
                  std::string_view who) {
  if (!is_lost(vocabulary, options)) return;
  log_warning(
      "{}: {} of its {} pieces have capital letters or accents, but {} {}, so they never match: "
      "use --do_lower_case=false or --cased to keep the case of the text",
      vocabulary.origin(), lost_pieces(vocabulary, options), vocabulary.size(), who,
      options.strips_accents() ? "lower-cases the text and strips accents"
                               : "lower-cases the text");
}

}  // namespace smelt::text
