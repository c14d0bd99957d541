// The options of a WordPiece tokenizer beside its vocabulary, in Hugging Face's
// tokenizer_config.json: do_lower_case, strip_accents, tokenize_chinese_chars; and
// control_characters, "bert" or "electra", which only smelt writes. Where that is missing, a
// tokenizer_class of ELECTRA says it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "tokenize/tokenizer_options.h"

namespace smelt {

// What the user said; unset: nothing.
struct TokenizerFlags {
  std::optional<bool> lower_case = {}, strip_accents = {};
  std::optional<ControlCharacters> control = {};
  // As the user writes them.
  std::string_view lower_case_name = "--lower-case", strip_accents_name = "--strip-accents",
                   control_name = "--control-characters";

  bool operator==(const TokenizerFlags&) const = default;
};

// folder/vocab.txt -> folder/tokenizer_config.json, as Hugging Face names the two; of several
// vocabularies in a folder, folder/x.txt -> folder/x.tokenizer_config.json.
std::string tokenizer_config_path(const std::string& vocab);

// What is stored beside the vocabulary, or nullopt. UsageError for a file that says it in another
// form.
std::optional<TokenizerOptions> load_tokenizer_config(const std::string& vocab);
Json tokenizer_config_json(const TokenizerOptions& options);
void save_tokenizer_config(const std::string& vocab, const TokenizerOptions& options);

// UsageError for a flag that contradicts the options, which `origin` has.
void check_flags(const TokenizerFlags& flags, const TokenizerOptions& options,
                 std::string_view origin);
// Of the flags, and the defaults for the rest.
TokenizerOptions options_of(const TokenizerFlags& flags);

std::string_view name(ControlCharacters control);

}  // namespace smelt
