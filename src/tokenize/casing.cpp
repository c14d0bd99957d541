#include "tokenize/casing.h"

#include <algorithm>

#include "base/log.h"
#include "tokenize/unigram_json.h"

namespace smelt {

std::size_t capital_pieces(const Vocabulary& vocabulary) {
  return static_cast<std::size_t>(
      std::ranges::count_if(vocabulary.tokens(), [](const std::string& piece) {
        return !(piece.starts_with('[') && piece.ends_with(']')) &&
               std::ranges::any_of(piece, [](char c) { return c >= 'A' && c <= 'Z'; });
      }));
}

bool is_cased(const Vocabulary& vocabulary) {
  return capital_pieces(vocabulary) * 100 > static_cast<std::size_t>(vocabulary.size());
}

TokenizerFlags as_vocabulary_is(TokenizerFlags flags, const std::string& vocab,
                                std::optional<ControlCharacters> control) {
  if (is_sentencepiece_file(vocab) || load_tokenizer_config(vocab)) return flags;
  if (!flags.control) flags.control = control;
  if (!flags.lower_case) flags.lower_case = !is_cased(Vocabulary::load(vocab));
  return flags;
}

void warn_of_case(const Vocabulary& vocabulary, std::string_view who) {
  if (!is_cased(vocabulary)) return;
  log_warning(
      "{}: {} of its {} pieces have capital letters, but {} lower-cases the text, which then never "
      "finds them: a cased model wants its text as it is (--do_lower_case=false, --cased)",
      vocabulary.origin(), capital_pieces(vocabulary), vocabulary.size(), who);
}

}  // namespace smelt
