// Normalizers of Hugging Face's tokenizer.json, with the sources of the text that they give.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "io/formats/json_field.h"
#include "text/tokenizers/character_table.h"
#include "text/tokenizers/mapped_text.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt {

struct NormalizerStep {
  enum class Kind {
    bert,  // BertNormalizer, by `options`
    nfc,
    nfd,
    nfkc,
    nfkd,
    lower_case,      // character by character
    replace,         // each `pattern` by `content`
    replace_spaces,  // each run of two or more spaces by `content`
    strip,           // white space at the ends
  } kind;
  TokenizerOptions options = {};
  std::string pattern = {}, content = {};
  bool left = true, right = true;  // the ends that `strip` looks at

  bool operator==(const NormalizerStep&) const = default;
};

// Reads the "normalizer" of a tokenizer.json: a step, a Sequence of steps, or null. Throws
// UsageError for a step of another kind.
std::vector<NormalizerStep> parse_normalizer_steps(const JsonField& normalizer,
                                                   std::string_view path, std::string_view hint);
// The steps of the options of a tokenizer that smelt writes, but for ControlCharacters::bert.
std::vector<NormalizerStep> normalizer_steps(const TokenizerOptions& options);
OrderedJson normalizer_json(const std::vector<NormalizerStep>& steps);

// Applies the steps. Immutable: one may serve several threads.
class TextNormalizer {
 public:
  explicit TextNormalizer(std::vector<NormalizerStep> steps);

  bool empty() const { return steps_.empty(); }
  MappedText apply(MappedText text) const;

 private:
  std::vector<NormalizerStep> steps_;
  std::vector<const CharacterTable*> tables_;  // by step; null for all but `bert`
};

// Normalizes to NFC and keeps the mapping from each byte to its source range.
MappedText nfc_text(MappedText text);

// What a BERT tokenizer's characters become, without splitting into words: white space becomes
// spaces.
MappedText normalise_characters(const CharacterTable& table, const MappedText& text);

}  // namespace smelt
