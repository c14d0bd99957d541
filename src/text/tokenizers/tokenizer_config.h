// The options of a WordPiece tokenizer in Hugging Face's files beside its vocabulary:
// tokenizer_config.json, special_tokens_map.json, added_tokens.json, tokenizer.json and
// config.json's tokenizer_class. All of it that changes ids is read or refused by name
// (docs/reference/formats/tokenizer.md).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "io/formats/json_field.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt {

// The fields that name BERT's special tokens.
inline constexpr std::array<std::pair<const char*, const char*>, 5> kSpecialTokenRoles{
    {{"pad_token", "[PAD]"},
     {"unk_token", "[UNK]"},
     {"cls_token", "[CLS]"},
     {"sep_token", "[SEP]"},
     {"mask_token", "[MASK]"}}};

// The value of --segment-command for text whose words are separated by spaces already.
inline constexpr std::string_view kNoSegmentCommand = "none";

// What the user said; unset: nothing.
struct TokenizerFlags {
  std::optional<bool> lower_case = {}, strip_accents = {};
  std::optional<ControlCharacters> control = {};
  std::optional<std::string> segment_command = {};  // a command, or kNoSegmentCommand
  // As the user writes them.
  std::string_view lower_case_name = "--lower-case", strip_accents_name = "--strip-accents",
                   control_name = "--control-characters",
                   segment_command_name = "--segment-command";

  bool operator==(const TokenizerFlags&) const = default;
};

// folder/vocab.txt -> folder/tokenizer_config.json, as Hugging Face names the two; of several
// vocabularies in a folder, folder/x.txt -> folder/x.tokenizer_config.json.
std::string tokenizer_config_path(const std::string& vocab);

// vocab.txt in a folder, else tokenizer.json of an encoder; empty if neither is there.
std::string wordpiece_file_in(const std::string& folder);

// Reads the options stored beside vocab.txt, or in and beside tokenizer.json. Returns nullopt if
// none are stored, or for a SentencePiece model. UsageError if a file is malformed, or if the
// tokenizer is not a WordPiece tokenizer with BERT's rules.
std::optional<TokenizerOptions> load_tokenizer_config(const std::string& vocab);
// Applies the files beside a tokenizer.json of these tokens to its options, as transformers does.
// UsageError as load_tokenizer_config().
void apply_tokenizer_config(const std::string& tokenizer_json,
                            const std::vector<std::string>& tokens, TokenizerOptions& options);
// The options of a vocabulary: those that are stored, else what the flags give, else lower case if
// that normalisation can produce the vocabulary's pieces. UsageError for a flag that contradicts a
// stored option.
TokenizerOptions tokenizer_options(const std::string& vocab, const TokenizerFlags& flags);

// Returns the command that splits text into words for this vocabulary, of any kind: the one that is
// stored beside it, else the flag's; empty if there is none. Throws UsageError if both are given
// and differ.
std::string segment_command_of(const std::string& vocab, const TokenizerFlags& flags);
// Stores the command beside a SentencePiece, Unigram or BPE vocabulary, or removes it if it is
// empty.
void store_segment_command(const std::string& vocab, const std::string& command);
// Stores all options beside a tokenizer.json of word pieces if there is or was a segment command:
// transformers and smelt take a field that is missing there for its default, whatever the
// tokenizer.json says.
void store_options_beside(const std::string& tokenizer_json, const TokenizerOptions& options);

// An object of added_tokens or added_tokens_decoder. UsageError for another form.
AddedToken parse_added_token(const JsonField& field, std::int32_t id);
// UsageError for an id that is negative or beyond any vocabulary.
std::int32_t token_id_of(const JsonField& field);
// The flags of an added token, as both files store them.
OrderedJson added_token_json(const AddedToken& token);
// Returns the tokens in added_tokens_decoder of tokenizer_config.json and in added_tokens.json,
// both beside `vocab`. Throws UsageError if one of the files is malformed.
std::vector<AddedToken> tokens_beside(const std::string& vocab);
// Adds tokens by id; an id that is there already keeps its token.
void merge_added_tokens(std::vector<AddedToken> more, std::vector<AddedToken>& tokens);

// The content of the tokenizer_config.json beside a tokenizer.json.
Json tokenizer_config_json(const TokenizerOptions& options);
// The same beside a vocab.txt alone, with a class that transformers can load without a
// tokenizer.json, unless that class would give other ids.
std::string vocab_txt_config(const TokenizerOptions& options);
void save_tokenizer_config(const std::string& vocab, const TokenizerOptions& options);

// UsageError for a flag that contradicts the options, which `origin` has.
void check_flags(const TokenizerFlags& flags, const TokenizerOptions& options,
                 std::string_view origin);
// Of the flags, and the defaults for the rest.
TokenizerOptions options_of(const TokenizerFlags& flags);
// The options of a vocabulary that is made from text: case and accents are kept unless the flags
// say otherwise, the text is normalised to NFC, U+200B is white space, and a word has at most
// kNewMaxCharactersPerWord characters. `language`: see has_turkic_case().
TokenizerOptions new_vocabulary_options(const TokenizerFlags& flags, std::string_view language,
                                        std::string_view language_name);

std::string_view name(ControlCharacters control);
// Returns the options that change which tokens a text gives, as the description of examples
// (docs/reference/formats/description.md) records them.
OrderedJson tokenizer_settings(const TokenizerOptions& options);

}  // namespace smelt
