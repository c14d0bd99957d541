// The SentencePiece model of an encoder, such as DeBERTa's spm.model.
#pragma once

#include <string>

#include "text/tokenizers/subword_file.h"

namespace smelt::text {

// Reads the model as described at load_subword_file(). Throws UsageError if the file is not a
// Unigram model, or if the accompanying tokenizer_config.json sets split_by_punct.
SubwordFile load_encoder_spm(const std::string& path);

// Returns the post-processor that puts [CLS] and [SEP] with these ids around texts and pairs.
OrderedJson template_around(std::int32_t cls, std::int32_t sep);

}  // namespace smelt::text
