// Reads and writes Hugging Face's tokenizer.json of WordPiece models: the vocabulary and the
// options in one file.
//
// The file is applied as by Hugging Face: its BertNormalizer drops every category of control
// characters, like ELECTRA. In two cases smelt follows the original program instead of Hugging
// Face: a capital sigma at the end of a word becomes the final sigma, and "[MASK]" in a text is
// ordinary text. Other added tokens are found in a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::text {

struct WordPieceModel {
  Vocabulary vocabulary;
  TokenizerOptions options;
};

bool is_tokenizer_json(std::string_view path);

// Throws UsageError if the text is not JSON or uses an unsupported model, normalizer, pre-tokenizer
// or post-processor. Ids without a token are allowed; no text produces them.
WordPieceModel parse_tokenizer_json(std::string_view text, const std::string& path);
// Reads the file. If it is named tokenizer.json, also applies the accompanying files as
// transformers does (text/tokenizers/tokenizer_config.h).
WordPieceModel load_tokenizer_json(const std::string& path);

// Returns the content of a tokenizer.json that encodes [CLS] text [SEP], or [CLS] a [SEP] b [SEP]
// for pairs. Throws UsageError if the vocabulary lacks these tokens.
std::string tokenizer_json(const Vocabulary& vocabulary, const TokenizerOptions& options);

}  // namespace smelt::text
