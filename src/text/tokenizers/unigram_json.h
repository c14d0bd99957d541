// Reads Hugging Face's tokenizer.json of a Unigram model with T5's normalization as the equivalent
// SentencePiece model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt::text {

// A text is split at sentinels; these flags select the parts that get a space sign ("▁", U+2581) at
// the beginning.
struct SpaceSigns {
  bool at_begin = true;          // the first part
  bool behind_sentinels = true;  // parts after sentinels
  bool of_spaces = false;        // parts that begin with a space

  bool operator==(const SpaceSigns&) const = default;
};

// Added tokens beyond the pieces of a SentencePiece model, which are found in a text as a whole.
struct AddedPieces {
  std::vector<AddedToken> tokens = {};  // by id, without sentinels that have their usual ids
  bool by_words = false;                // drop white space between a token and adjacent text
  bool sentinels_strip = true;          // sentinels include the white space around them
};

struct UnigramJson {
  std::string model;  // serialized SentencePiece model; equal texts give equal bytes
  SpaceSigns signs = {};
  AddedPieces added = {};
  // Number of <extra_id_…> tokens after the pieces, which a spiece.model does not contain.
  std::int64_t extra_ids = 0;
};

// Throws UsageError if the text is not JSON or uses a model, normalizer or other step that
// SentencePiece does not support.
UnigramJson parse_unigram_json(std::string_view text, const std::string& path);

// Returns whether the file is a SentencePiece model: a *.model, or a tokenizer.json with a Unigram
// model that is not an encoder's (text/tokenizers/subword_file.h).
bool is_sentencepiece_file(const std::string& path);
// Returns the serialized model of either file type. Throws UsageError if a *.json has none.
std::string sentencepiece_model(const std::string& path);
// Returns the space signs of the tokenizer.json. For a spiece.model they depend on `legacy` in its
// tokenizer_config.json: if it is false, transformers' T5Tokenizer puts no sign after a sentinel.
SpaceSigns space_signs(const std::string& path);
// Returns the added tokens of a tokenizer.json, or those in the tokenizer_config.json and
// added_tokens.json that accompany a spiece.model.
AddedPieces added_pieces(const std::string& path);
// Throws UsageError if an added token has an id that is not less than `rows`, the number of rows of
// a model's embeddings.
void check_added_pieces(const AddedPieces& added, std::int64_t rows, const std::string& vocab);
// Returns the tokenizer_config.json of a T5 vocabulary. Settings that transformers does not have
// are in a separate object.
Json t5_tokenizer_config(const std::string& path);
// Returns the content of the tokenizer_config.json that a copy of the vocabulary as a spiece.model
// needs; "" if it needs none.
std::string config_beside_copy(const std::string& path);
// Returns the same bytes for equivalent vocabularies: the bytes of a SentencePiece model (*.model,
// or tokenizer.json of a Unigram model), the content of a vocab.txt (also for a WordPiece
// tokenizer.json), or the result of subword_json().
std::string vocabulary_bytes(const std::string& path);
// Returns the CRC32C of vocabulary_bytes(). For SentencePiece it also covers added tokens and
// non-default handling of spaces.
std::uint32_t vocabulary_crc32c(const std::string& path);

}  // namespace smelt::text
