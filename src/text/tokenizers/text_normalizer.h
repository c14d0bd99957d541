// Normalizers of Hugging Face's tokenizer.json that keep the source range of each byte.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "io/formats/json_field.h"
#include "text/tokenizers/character_table.h"
#include "text/tokenizers/mapped_text.h"
#include "text/tokenizers/precompiled_map.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt::text {

struct NormalizerStep {
  enum class Kind {
    bert,  // BertNormalizer with `options`
    nfc,
    nfd,
    nfkc,
    nfkd,
    lower_case,      // character by character
    replace,         // each `pattern` becomes `content`
    replace_spaces,  // each run of two or more spaces becomes `content`
    replace_white,   // each line feed, carriage return or tab, and each run of two or more white
                     // space characters becomes `content`
    precompiled,     // the character map of a SentencePiece model, whose bytes are `content`
    strip,           // removes white space at the ends
  } kind;
  TokenizerOptions options = {};
  std::string pattern = {}, content = {};
  bool left = true, right = true;  // which ends `strip` applies to

  bool operator==(const NormalizerStep&) const = default;
};

// Parses the "normalizer" of a tokenizer.json: a step, a Sequence of steps, or null. Throws
// UsageError for any other step.
std::vector<NormalizerStep> parse_normalizer_steps(const io::JsonField& normalizer,
                                                   std::string_view path, std::string_view hint);
// Returns the steps for the options of a tokenizer that smelt writes. The steps always drop the
// characters of ControlCharacters::electra: Hugging Face's format cannot express
// ControlCharacters::bert.
std::vector<NormalizerStep> normalizer_steps(const TokenizerOptions& options);
OrderedJson normalizer_json(const std::vector<NormalizerStep>& steps);

// Applies normalizer steps. Immutable and thread-safe.
class TextNormalizer {
 public:
  explicit TextNormalizer(std::vector<NormalizerStep> steps);

  bool empty() const { return steps_.empty(); }
  MappedText apply(MappedText text) const;

 private:
  std::vector<NormalizerStep> steps_;
  std::vector<const CharacterTable*> tables_;  // by step; null unless the step is `bert`
  std::vector<std::shared_ptr<const PrecompiledMap>> maps_;  // null unless it is `precompiled`
};

// Normalizes to NFC and keeps the source of each byte.
MappedText nfc_text(MappedText text);

// Applies a BERT tokenizer's character normalization without splitting into words. White space
// becomes spaces.
MappedText normalise_characters(const CharacterTable& table, const MappedText& text);

}  // namespace smelt::text
