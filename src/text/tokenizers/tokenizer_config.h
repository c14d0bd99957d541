// Options of a WordPiece tokenizer in the Hugging Face files that accompany its vocabulary:
// tokenizer_config.json, special_tokens_map.json, added_tokens.json, tokenizer.json and
// tokenizer_class in config.json. Every setting that changes ids is either read or rejected by name
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

namespace smelt::text {

// The fields that name BERT's special tokens.
inline constexpr std::array<std::pair<const char*, const char*>, 5> kSpecialTokenRoles{
    {{"pad_token", "[PAD]"},
     {"unk_token", "[UNK]"},
     {"cls_token", "[CLS]"},
     {"sep_token", "[SEP]"},
     {"mask_token", "[MASK]"}}};

// Value of --segment-command for text whose words are already separated by spaces.
inline constexpr std::string_view kNoSegmentCommand = "none";

// Tokenizer settings given by the user. Unset fields were not given.
struct TokenizerFlags {
  std::optional<bool> lower_case = {}, strip_accents = {};
  std::optional<ControlCharacters> control = {};
  std::optional<std::string> segment_command = {};  // a command, or kNoSegmentCommand
  // Names of the settings in error messages.
  std::string_view lower_case_name = "--lower-case", strip_accents_name = "--strip-accents",
                   control_name = "--control-characters",
                   segment_command_name = "--segment-command";

  bool operator==(const TokenizerFlags&) const = default;
};

// Returns folder/tokenizer_config.json for folder/vocab.txt, as in Hugging Face's layout, and
// folder/x.tokenizer_config.json for folder/x.txt, so that a folder can hold several vocabularies.
std::string tokenizer_config_path(const std::string& vocab);

// Returns the vocabulary of the encoder in a Hugging Face folder, the first that exists of:
// vocab.txt, tokenizer.json, spm.model, sentencepiece.bpe.model, and vocab.json with merges.txt.
// Returns "" if all are missing, or if the file belongs to another model, such as a T5.
std::string wordpiece_file_in(const std::string& folder);

// Reads the options stored with a vocab.txt or tokenizer.json. Returns nullopt if none are stored,
// or for a SentencePiece model. Throws UsageError if a file is malformed, or if the tokenizer is
// not a WordPiece tokenizer with BERT's rules.
std::optional<TokenizerOptions> load_tokenizer_config(const std::string& vocab);
// Changes `options`, which were read from a tokenizer.json, by the files that accompany it, as
// transformers does. `tokens` are the tokens of the tokenizer.json, by id. Throws UsageError like
// load_tokenizer_config().
void apply_tokenizer_config(const std::string& tokenizer_json,
                            const std::vector<std::string>& tokens, TokenizerOptions& options);
// Returns the options of a vocabulary: the stored ones, or those of the flags. If neither sets the
// case, lower-cases if that can produce the vocabulary's pieces. Throws UsageError if a flag
// contradicts a stored option.
TokenizerOptions tokenizer_options(const std::string& vocab, const TokenizerFlags& flags);

// Returns the command that splits text into words for any kind of vocabulary: the stored one, or
// the flag's; empty if there is none. Throws UsageError if both are set and differ.
std::string segment_command_of(const std::string& vocab, const TokenizerFlags& flags);
// Stores the command with a SentencePiece, Unigram or BPE vocabulary. An empty command removes the
// stored one.
void store_segment_command(const std::string& vocab, const std::string& command);
// Stores all options in a tokenizer_config.json for a WordPiece tokenizer.json, if there is or was
// a segment command. Stores all of them because for a field that is missing there, transformers and
// smelt use the default and ignore the tokenizer.json.
void store_options_beside(const std::string& tokenizer_json, const TokenizerOptions& options);

// Parses an object of added_tokens or added_tokens_decoder. Throws UsageError if it is malformed.
AddedToken parse_added_token(const io::JsonField& field, std::int32_t id);
// Throws UsageError if the id is negative or too large for a vocabulary.
std::int32_t token_id_of(const io::JsonField& field);
// Returns the content and flags of an added token as they are written in both tokenizer.json and
// tokenizer_config.json.
OrderedJson added_token_json(const AddedToken& token);
// Returns the tokens in added_tokens_decoder of tokenizer_config.json and in added_tokens.json,
// both in the folder of `vocab`. Throws UsageError if a file is malformed.
std::vector<AddedToken> tokens_beside(const std::string& vocab);
// Returns the name of the tokenizer class of the folder with `vocab`, without "Fast". This is
// tokenizer_class of tokenizer_config.json or config.json, or the class of config.json's
// model_type, such as "RobertaTokenizer" for roberta. Empty if there is neither.
std::string tokenizer_class_beside(const std::string& vocab);
// Returns the added tokens of a tokenizer without tokenizer.json, as transformers finds them in
// tokenizer_config.json, special_tokens_map.json and added_tokens.json in the folder of `vocab`.
// `known` are the special tokens that the class itself adds; `pieces` are the model's, by id.
std::vector<AddedToken> added_tokens_beside(const std::string& vocab,
                                            const std::vector<std::string>& pieces,
                                            std::vector<AddedToken> known);
// Adds tokens by id. An id that already exists keeps its token.
void merge_added_tokens(std::vector<AddedToken> more, std::vector<AddedToken>& tokens);

// Returns the content of the tokenizer_config.json that accompanies a tokenizer.json.
Json tokenizer_config_json(const TokenizerOptions& options);
// Returns the content of the tokenizer_config.json for a vocab.txt without tokenizer.json. Names a
// class that transformers can load from it, unless that class would give different ids.
std::string vocab_txt_config(const TokenizerOptions& options);
void save_tokenizer_config(const std::string& vocab, const TokenizerOptions& options);

// Throws UsageError if a flag contradicts the options read from `origin`.
void check_flags(const TokenizerFlags& flags, const TokenizerOptions& options,
                 std::string_view origin);
// Returns the options of the flags, with defaults for unset ones.
TokenizerOptions options_of(const TokenizerFlags& flags);
// Returns the options of a vocabulary that is trained from text. Case and accents are kept unless
// the flags say otherwise, text is normalized to NFC, U+200B is white space, and a word has at most
// kNewMaxCharactersPerWord characters. For `language` see has_turkic_case().
TokenizerOptions new_vocabulary_options(const TokenizerFlags& flags, std::string_view language,
                                        std::string_view language_name);

std::string_view name(ControlCharacters control);
// Returns the options that affect tokenization, in the format of dataset descriptions
// (docs/reference/formats/description.md).
OrderedJson tokenizer_settings(const TokenizerOptions& options);

}  // namespace smelt::text
