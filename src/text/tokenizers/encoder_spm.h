// The SentencePiece model of an encoder, such as DeBERTa's spm.model.
#pragma once

#include <string>

#include "text/tokenizers/subword_file.h"

namespace smelt::text {

// Reads the model as the tokenizer.json that transformers 4 makes of it, with the model's character
// map and the added tokens in the accompanying files (added_tokens_beside()).
//
// A model with [PAD], [CLS] and [SEP] is read as DeBERTa's: do_lower_case of tokenizer_config.json
// is applied, and [MASK] follows the pieces unless it is one of them. Otherwise the folder must be
// that of an XLM-RoBERTa or a CamemBERT (tokenizer_class_beside()). Their ids are not those of the
// file: special tokens come first, and <mask> follows the pieces.
//
// Throws UsageError if the file is not a Unigram model, or if tokenizer_config.json sets
// split_by_punct.
SubwordFile load_encoder_spm(const std::string& path);

// Returns the post-processor that puts [CLS] and [SEP] with these ids around texts and pairs.
OrderedJson template_around(std::int32_t cls, std::int32_t sep);

}  // namespace smelt::text
