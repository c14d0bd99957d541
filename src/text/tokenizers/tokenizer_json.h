// Hugging Face's tokenizer.json of WordPiece models: the vocabulary and the options in one file.
//
// Such a file is read as Hugging Face applies it: its BertNormalizer drops every category of
// control characters, as ELECTRA does. Two habits of that library are not taken over, in which it
// differs from the original program: a capital sigma at a word's end becomes the final sigma here,
// and "[MASK]" in a text is text. Other added tokens are found in a text, as there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

struct WordPieceModel {
  Vocabulary vocabulary;
  TokenizerOptions options;
};

bool is_tokenizer_json(std::string_view path);

// UsageError for text that is no JSON, and for another kind of model, normalisation, splitting or
// special tokens around a text. An id without a token is one that no text gives.
WordPieceModel parse_tokenizer_json(std::string_view text, const std::string& path);
// Reads the file and, if it is named tokenizer.json, the files beside it, whose options count as
// in transformers (text/tokenizers/tokenizer_config.h).
WordPieceModel load_tokenizer_json(const std::string& path);

// [CLS] text [SEP], or [CLS] a [SEP] b [SEP] for pairs. UsageError without those two tokens.
std::string tokenizer_json(const Vocabulary& vocabulary, const TokenizerOptions& options);

}  // namespace smelt
