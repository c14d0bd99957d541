// Hugging Face's tokenizer.json of a Unigram model with T5's normalisation, as the SentencePiece
// model that it was made from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt {

// Where a part of a text, cut at its sentinels, begins with the sign of a space.
struct SpaceSigns {
  bool at_begin = true;          // the text's first part does
  bool behind_sentinels = true;  // so do the others
  bool of_spaces = false;        // so does any that begins with a space

  bool operator==(const SpaceSigns&) const = default;
};

// Tokens beyond the pieces of a SentencePiece model, which are found in a text as a whole.
struct AddedPieces {
  std::vector<AddedToken> tokens = {};  // by id, without sentinels that have their usual ids
  bool by_words = false;        // white space between a token and the text beside it vanishes
  bool sentinels_strip = true;  // sentinels take the white space around them
};

struct UnigramJson {
  std::string model;  // a SentencePiece model's bytes; the same text gives the same
  SpaceSigns signs = {};
  AddedPieces added = {};
  // <extra_id_…> behind its pieces, which a spiece.model does not hold.
  std::int64_t extra_ids = 0;
};

// UsageError for text that is no JSON, another kind of model, and steps before or after it that a
// SentencePiece model has not.
UnigramJson parse_unigram_json(std::string_view text, const std::string& path);

// Whether the file is a SentencePiece model: *.model, or by its content a tokenizer.json of a
// Unigram model that is not an encoder's (text/tokenizers/subword_file.h).
bool is_sentencepiece_file(const std::string& path);
// The model's bytes, of either form. UsageError where a *.json holds none.
std::string sentencepiece_model(const std::string& path);
// As the tokenizer.json says, or, for a spiece.model, `legacy` of the tokenizer_config.json beside
// it: transformers' T5Tokenizer puts no sign behind a sentinel where that is false.
SpaceSigns space_signs(const std::string& path);
// Returns the added tokens of a tokenizer.json, or those that tokenizer_config.json and
// added_tokens.json beside a spiece.model list.
AddedPieces added_pieces(const std::string& path);
// Throws UsageError if an added token has an id beyond the `rows` of a model's embeddings.
void check_added_pieces(const AddedPieces& added, std::int64_t rows, const std::string& vocab);
// Returns the tokenizer_config.json of a T5 vocabulary. Settings that transformers does not have
// are in an object of their own.
Json t5_tokenizer_config(const std::string& path);
// Returns the content of the tokenizer_config.json that a copy of the vocabulary as a spiece.model
// needs beside it; "" if it needs none.
std::string config_beside_copy(const std::string& path);
// Returns the vocabulary in one form for equal vocabularies: the bytes of a SentencePiece model
// (*.model, or tokenizer.json of a Unigram model), the content of a vocab.txt (also for a
// tokenizer.json of a WordPiece model), else what subword_json() writes.
std::string vocabulary_bytes(const std::string& path);
// Returns the CRC32C of vocabulary_bytes(); for SentencePiece it also covers added tokens and
// handling of spaces that is not the default.
std::uint32_t vocabulary_crc32c(const std::string& path);

}  // namespace smelt
