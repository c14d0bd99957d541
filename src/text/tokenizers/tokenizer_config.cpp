#include "text/tokenizers/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/lfs_pointer.h"
#include "io/filesystem/path.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/language.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::text {
namespace {

constexpr const char *kDecoder = "added_tokens_decoder", *kAdditional = "additional_special_tokens",
                     *kSegmentCommand = "segment_command";

bool is_token_id(const Json& value) {
  constexpr std::int64_t kMostTokens = 10'000'000;
  if (!value.is_number_integer()) return false;
  const auto id = value.get<std::int64_t>();
  return id >= 0 && id < kMostTokens;
}

// The files that accompany a vocabulary.
struct TokenizerFiles {
  std::string path;            // of tokenizer_config.json
  std::optional<Json> config;  // its content
  Json special =
      Json::object();  // the fields of config and special_tokens_map.json that name special tokens
  // from tokenizer_config.json or config.json; empty: not given
  std::string tokenizer_class, class_origin;
  std::optional<WordPieceModel> json;  // tokenizer.json that accompanies vocab.txt
  std::string hint;
};

// Returns whether the transformers class follows the rules of BERT's tokenizer.
bool is_bert_class(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  constexpr std::array<std::string_view, 5> kClasses{"BertTokenizer", "ElectraTokenizer",
                                                     "DistilBertTokenizer", "ConvBertTokenizer",
                                                     "MobileBertTokenizer"};
  return std::ranges::find(kClasses, name) != kClasses.end();
}

// Returns whether the transformers class applies tokenizer.json unchanged.
bool is_json_class(std::string_view name) {
  return name == "PreTrainedTokenizerFast" || name == "TokenizersBackend";
}

Json object_in(const std::string& path, const std::string& hint) {
  const std::string content = io::read_file(path, io::kSmallFileBytes);
  io::refuse_lfs_pointer(content, path);
  Json file = Json::parse_or_discard(content);
  if (!file.is_object()) throw UsageError(str(path, ": is not a JSON object"), hint);
  return file;
}

// Returns the text of a token that is stored as a string or object; empty for null.
std::string content_of(const io::JsonField& token) {
  return token.value().is_object() ? token["content"].as<std::string>() : token.as<std::string>("");
}

ControlCharacters control_of(const io::JsonField& config, std::string_view tokenizer_class) {
  const io::JsonField control = config["control_characters"];
  for (const auto known : {ControlCharacters::bert, ControlCharacters::electra})
    if (control.value() == name(known)) return known;
  if (!control.is_null()) control.throw_unexpected(", not \"bert\" or \"electra\"");
  return tokenizer_class.starts_with("Electra") ? ControlCharacters::electra
                                                : ControlCharacters::bert;
}

// Throws UsageError if the fields for special tokens name other ones than BERT's.
void check_roles(const io::JsonField& file) {
  for (const auto& [field, ours] : kSpecialTokenRoles)
    if (!file[field].is_null() && content_of(file[field]) != ours)
      file[field].throw_unexpected(str(", not \"", ours, "\""));
}

// Throws UsageError for settings of other tokenizers that would give different ids.
void check_rules(const io::JsonField& config) {
  for (const auto& [field, ours] :
       {std::pair{"word_tokenizer_type", "basic"}, {"subword_tokenizer_type", "wordpiece"}})
    if (!config[field].is_null()) config[field].expect(ours);
  if (!config["do_basic_tokenize"].as_switch().value_or(true))
    config["do_basic_tokenize"].throw_unexpected(", not true");
  if (config["split_special_tokens"].as_switch().value_or(false))
    config["split_special_tokens"].throw_unexpected(", not false");
  if (!config["auto_map"].is_null())
    config["auto_map"].throw_unexpected(": a tokenizer with code of its own cannot be used");
  for (const std::string& word : config["never_split"].as_texts())
    if (!is_special_token(word)) config["never_split"].throw_unexpected(", not empty");
  check_roles(config);
}

// Returns whether smelt wrote the file. It then has all settings of a tokenizer.json.
bool is_own_config(const TokenizerFiles& files) {
  return files.config && files.config->contains("control_characters");
}

void check_class(const TokenizerFiles& files, bool has_json) {
  const std::string& found = files.tokenizer_class;
  if (found.empty() || is_bert_class(found)) return;
  if (is_json_class(found) && (has_json || is_own_config(files))) return;
  throw UsageError(str(files.class_origin, ": tokenizer_class is \"", found,
                       "\", whose rules are not those of BertTokenizer or ElectraTokenizer"),
                   "use a model whose tokenizer is one of these two: with other rules the weights "
                   "get other ids");
}

// Special tokens that not every BERT has, in the order in which transformers assigns new ids to
// them.
constexpr std::array<const char*, 4> kNamedTokens{"bos_token", "eos_token", kAdditional,
                                                  "extra_special_tokens"};

// Returns whether tokenizer_config.json lists all added tokens. transformers then does not read
// special_tokens_map.json.
bool has_decoder(const TokenizerFiles& files) {
  return files.config && files.config->contains(kDecoder);
}

// Sets `out.special` from special_tokens_map.json at `path`, as transformers does. If the tokenizer
// `is_wordpiece`, throws UsageError for roles that BERT's tokenizer does not have.
void take_special_tokens_map(const std::string& path, bool is_wordpiece, TokenizerFiles& out) {
  Json map = object_in(path, out.hint);
  if (is_wordpiece && (out.tokenizer_class.empty() || is_bert_class(out.tokenizer_class)))
    check_roles(io::JsonField(map, path, out.hint));
  const auto mark = [&](Json& token) {
    if (!token.is_object()) return;
    token["special"] = true;
    parse_added_token(io::JsonField(token, path, out.hint), 0);
  };
  for (auto&& [field, value] : map.items()) {
    if (field != kAdditional || !value.is_array()) {
      if (field != "extra_special_tokens") mark(value);
      out.special[field] = value;
      continue;
    }
    Json& list = out.special[kAdditional];
    if (!list.is_array()) list = Json::array();
    for (Json& token : value) {
      mark(token);
      if (std::ranges::find(list, token) == list.end()) list.push_back(token);
    }
  }
}

// Reads the files. `model` is the path of config.json (empty if missing), whose tokenizer_class is
// used if tokenizer_config.json has none.
TokenizerFiles files_of(const std::string& config, const std::string& model,
                        bool is_wordpiece = true) {
  TokenizerFiles out;
  out.path = config;
  out.hint = str("use the files that the model was saved with: ", config, " says how its text is ",
                 "split");
  if (io::exists(config)) {
    out.config = object_in(config, out.hint);
    out.tokenizer_class =
        io::JsonField(*out.config, config, out.hint)["tokenizer_class"].as<std::string>("");
    out.class_origin = config;
  }
  if (out.tokenizer_class.empty() && !model.empty() && io::exists(model)) {
    const Json said = Json::parse_or_discard(io::read_file(model, io::kSmallFileBytes));
    if (said.is_object() && said.value("tokenizer_class", Json()).is_string())
      out.tokenizer_class = said["tokenizer_class"].get<std::string>();
    out.class_origin = model;
  }
  if (out.config)
    for (const auto& [field, value] : out.config->items())
      if (field.ends_with("_token") || field.ends_with("_special_tokens"))
        out.special[field] = value;
  const std::string map = io::join_path(io::parent_path(config), "special_tokens_map.json");
  if (!model.empty() && !has_decoder(out) && io::exists(map))
    take_special_tokens_map(map, is_wordpiece, out);
  return out;
}

// Appends the tokens in a field: one token, a list, or an object of roles. Each token is a string
// or an object with flags.
void append_tokens(const Json& value, std::vector<Json>& tokens) {
  if (value.is_string() || (value.is_object() && value.contains("content")))
    return tokens.push_back(value);
  if (!value.is_structured()) return;
  for (const auto& [role, item] : value.items()) append_tokens(item, tokens);
}

// Parses a special token that is stored as a string or an object with flags. The id is not set.
AddedToken named_token(const Json& value, const TokenizerFiles& files) {
  if (value.is_string())
    return {.content = value.get<std::string>(), .normalized = false, .special = true};
  AddedToken token = parse_added_token(io::JsonField(value, files.path, files.hint), 0);
  token.special = true;
  return token;
}

// Adds the special tokens that are stored without an id. A token in the vocabulary gets its id
// there; other tokens get the next free ids. If a token exists already and is stored as an object,
// the object sets the token's flags, unless added_tokens_decoder sets them.
void add_named_tokens(const TokenizerFiles& files, const std::vector<std::string>& lines,
                      std::vector<AddedToken>& tokens) {
  std::vector<Json> named;
  for (const char* field : kNamedTokens) append_tokens(files.special.value(field, Json()), named);
  std::size_t next = lines.size();
  for (const AddedToken& token : tokens)
    next = std::max(next, static_cast<std::size_t>(token.id) + 1);
  for (const Json& value : named) {
    AddedToken token = named_token(value, files);
    if (token.content.empty() || is_special_token(token.content)) continue;
    const auto known = std::ranges::find(tokens, token.content, &AddedToken::content);
    if (known != tokens.end()) {
      token.id = known->id;
      if (value.is_object() && !has_decoder(files)) *known = std::move(token);
      continue;
    }
    const auto line = std::find(lines.rbegin(), lines.rend(), token.content);
    const std::size_t id =
        line != lines.rend() ? static_cast<std::size_t>(lines.rend() - line) - 1 : next++;
    token.id = static_cast<std::int32_t>(id);
    merge_added_tokens({std::move(token)}, tokens);
  }
}

// Returns the tokens in added_tokens_decoder of a tokenizer_config.json.
std::vector<AddedToken> tokens_in_decoder(const TokenizerFiles& files) {
  std::vector<AddedToken> tokens;
  if (!files.config) return tokens;
  const io::JsonField decoder = io::JsonField(*files.config, files.path, files.hint)[kDecoder];
  if (decoder.is_null()) return tokens;
  if (!decoder.value().is_object()) decoder.throw_unexpected(", not an object by ids");
  for (const auto& [key, value] : decoder.value().items()) {
    const Json id = Json::parse_or_discard(key);
    if (!is_token_id(id)) decoder.refuse(str("of '", key, "', which is not the id of a token"));
    tokens.push_back(parse_added_token(decoder[key], id.get<std::int32_t>()));
  }
  return tokens;
}

// Returns the tokens in the added_tokens.json at `path`, which stores no flags. A token is special
// if `files` name it as a special token.
std::vector<AddedToken> tokens_in_list(const std::string& path, const TokenizerFiles& files) {
  std::vector<AddedToken> tokens;
  if (path.empty() || !io::exists(path)) return tokens;
  const Json file = object_in(path, files.hint);
  const io::JsonField root(file, path, files.hint);
  std::vector<Json> named;
  append_tokens(files.special, named);
  const auto is_named = [&](const std::string& content) {
    return std::ranges::any_of(named, [&](const Json& token) {
      return token == content || (token.is_object() && token["content"] == content);
    });
  };
  for (const auto& [content, id] : file.items()) {
    const bool special = is_named(content);
    tokens.push_back({.id = token_id_of(root[content]),
                      .content = content,
                      .normalized = !special,
                      .special = special});
  }
  return tokens;
}

// Returns all added tokens: `known` (of tokenizer.json), those of tokenizer_config.json, and those
// of `list`, an added_tokens.json. Excludes special tokens that are lines of the vocabulary.
std::vector<AddedToken> added_tokens(const TokenizerFiles& files, const std::string& list,
                                     std::vector<AddedToken> known,
                                     const std::vector<std::string>& lines) {
  std::vector<AddedToken> tokens = tokens_in_decoder(files);
  merge_added_tokens(std::move(known), tokens);
  merge_added_tokens(tokens_in_list(list, files), tokens);
  std::erase_if(tokens, [&](const AddedToken& token) {
    return is_special_token(token.content) &&
           std::ranges::find(lines, token.content) != lines.end();
  });
  add_named_tokens(files, lines, tokens);
  return tokens;
}

// Sets the options from tokenizer_config.json, with transformers' defaults for missing fields.
void take_config(const TokenizerFiles& files, TokenizerOptions& options) {
  const io::JsonField config(*files.config, files.path, files.hint);
  check_rules(config);
  const TokenizerOptions defaults;
  options.lower_case = config["do_lower_case"].as_switch().value_or(defaults.lower_case);
  options.strip_accents = config["strip_accents"].as_switch();
  options.split_chinese =
      config["tokenize_chinese_chars"].as_switch().value_or(defaults.split_chinese);
  const io::JsonField limit = config["max_input_chars_per_word"];
  const auto characters = limit.as_number<std::uint32_t>();
  if (characters == 0u) limit.throw_unexpected(", not at least 1");
  if (characters) options.max_characters_per_word = *characters;
  // Only smelt writes these fields. If they are missing, the settings of tokenizer.json are kept.
  if (!config["normalization"].is_null()) {
    config["normalization"].expect("NFC");
    options.nfc = true;
  }
  options.zero_width_space =
      config["zero_width_space"].as_switch().value_or(options.zero_width_space);
  options.turkic_case = config["turkic_case"].as_switch().value_or(options.turkic_case);
}

// Logs that vocab.txt and tokenizer.json differ, once per folder.
void warn_of_other_pieces(const std::vector<std::string>& lines, const Vocabulary& json,
                          const std::string& vocab) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::vector<std::string> others = vocabulary_lines(json.text());
  for (std::size_t id = 0; id < std::max(lines.size(), others.size()); ++id) {
    const std::string here = id < lines.size() ? lines[id] : "";
    const std::string there = id < others.size() ? others[id] : "";
    if (here == there || (there.empty() && std::ranges::count(lines, here) > 1)) continue;
    const std::lock_guard lock(mutex);
    if (warned.insert(vocab).second)
      log_warning("{}: id {} is '{}', but '{}' in {}: {} is used", vocab, id, here, there,
                  json.origin(), io::path_name(vocab));
    return;
  }
}

void check_flag(std::string_view flag, std::string_view said, std::string_view stored,
                std::string_view origin) {
  if (said == stored) return;
  throw UsageError(str(flag, ": ", said, ", but ", origin, " has ", stored),
                   str("set ", flag, " to ", stored, ", or use a vocabulary with that setting"));
}

std::string_view yes_or_no(bool value) { return value ? "true" : "false"; }

// Returns the path of the file that stores the segment command of a vocabulary of any kind.
std::string segment_config_path(const std::string& vocab) {
  const std::string file = io::path_name(vocab);
  const bool is_usual = file == "tokenizer.json" || file == "spiece.model";
  return is_usual ? io::join_path(io::parent_path(vocab), "tokenizer_config.json")
                  : tokenizer_config_path(vocab);
}

// Returns the JSON object in the file; empty if the file or the object is missing.
Json config_or_empty(const std::string& path) {
  Json config =
      io::exists(path) ? Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes)) : Json();
  return config.is_object() ? config : Json::object();
}

std::string given_segment_command(const TokenizerFlags& flags) {
  const std::string command = flags.segment_command.value_or("");
  return command == kNoSegmentCommand ? "" : command;
}

std::string stored_segment_command(const std::string& vocab) {
  const std::string path = segment_config_path(vocab);
  const Json config = config_or_empty(path);
  return io::JsonField(config, path, "correct the file")[kSegmentCommand].as<std::string>("");
}

}  // namespace

std::string_view name(ControlCharacters control) {
  return control == ControlCharacters::bert ? "bert" : "electra";
}

OrderedJson tokenizer_settings(const TokenizerOptions& options) {
  OrderedJson out{{"lower_case", options.lower_case},
                  {"strip_accents", options.strips_accents()},
                  {"control_characters", name(options.control)},
                  {"split_chinese", options.split_chinese}};
  if (!options.segment_command.empty()) out["segment_command"] = options.segment_command;
  return out;
}

std::string tokenizer_config_path(const std::string& vocab) {
  const std::string file = io::path_name(vocab);
  const std::string stem = file.substr(0, file.rfind('.'));
  return io::join_path(io::parent_path(vocab),
                       str(stem == "vocab" ? "" : stem + ".", "tokenizer_config.json"));
}

std::int32_t token_id_of(const io::JsonField& field) {
  if (!is_token_id(field.value())) field.throw_unexpected(", not the id of a token");
  return field.as<std::int32_t>();
}

AddedToken parse_added_token(const io::JsonField& field, std::int32_t id) {
  AddedToken out{.id = id, .content = field["content"].as<std::string>()};
  if (out.content.empty()) field["content"].refuse("empty");
  out.special = field["special"].as_switch().value_or(false);
  out.normalized = field["normalized"].as_switch().value_or(!out.special);
  out.single_word = field["single_word"].as_switch().value_or(false);
  out.lstrip = field["lstrip"].as_switch().value_or(false);
  out.rstrip = field["rstrip"].as_switch().value_or(false);
  return out;
}

OrderedJson added_token_json(const AddedToken& token) {
  return {{"content", token.content},       {"single_word", token.single_word},
          {"lstrip", token.lstrip},         {"rstrip", token.rstrip},
          {"normalized", token.normalized}, {"special", token.special}};
}

void merge_added_tokens(std::vector<AddedToken> more, std::vector<AddedToken>& tokens) {
  for (AddedToken& token : more)
    if (std::ranges::find(tokens, token.id, &AddedToken::id) == tokens.end())
      tokens.push_back(std::move(token));
  std::ranges::sort(tokens, {}, &AddedToken::id);
}

std::vector<AddedToken> tokens_beside(const std::string& vocab) {
  const auto beside = [&](const char* name) { return io::join_path(io::parent_path(vocab), name); };
  const TokenizerFiles files = files_of(beside("tokenizer_config.json"), "");
  std::vector<AddedToken> tokens = tokens_in_decoder(files);
  merge_added_tokens(tokens_in_list(beside("added_tokens.json"), files), tokens);
  return tokens;
}

std::string tokenizer_class_beside(const std::string& vocab) {
  const auto beside = [&](const char* name) { return io::join_path(io::parent_path(vocab), name); };
  const Json config = config_or_empty(beside("tokenizer_config.json")),
             model = config_or_empty(beside("config.json"));
  std::string name;
  for (const Json& file : {config, model})
    if (const Json said = file.value("tokenizer_class", Json()); name.empty() && said.is_string())
      name = said.get<std::string>();
  if (name.empty())
    for (const auto& [type, its_class] : {std::pair{"roberta", "RobertaTokenizer"},
                                          {"xlm-roberta", "XLMRobertaTokenizer"},
                                          {"camembert", "CamembertTokenizer"}})
      if (model.value("model_type", Json()) == type) name = its_class;
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  return name;
}

std::vector<AddedToken> added_tokens_beside(const std::string& vocab,
                                            const std::vector<std::string>& pieces,
                                            std::vector<AddedToken> known) {
  const auto beside = [&](const char* name) { return io::join_path(io::parent_path(vocab), name); };
  const bool has_class = !tokenizer_class_beside(vocab).empty();
  const TokenizerFiles files =
      files_of(beside("tokenizer_config.json"), has_class ? beside("config.json") : "", false);
  for (AddedToken& token : known)
    for (const auto& [role, said] : files.special.items())
      if (said.is_object() && said.value("content", Json()) == token.content) {
        const std::int32_t id = token.id;
        token = parse_added_token(io::JsonField(said, files.path, files.hint), id);
        token.special = true;
      }
  std::vector<AddedToken> tokens = tokens_in_decoder(files);
  merge_added_tokens(std::move(known), tokens);
  merge_added_tokens(tokens_in_list(beside("added_tokens.json"), files), tokens);
  add_named_tokens(files, pieces, tokens);
  return tokens;
}

std::string wordpiece_file_in(const std::string& folder) {
  std::string lines = io::join_path(folder, "vocab.txt"),
              json = io::join_path(folder, "tokenizer.json");
  if (io::exists(lines)) return lines;
  if (io::exists(json)) return is_sentencepiece_file(json) ? std::string() : json;
  for (const char* name : {kEncoderSpmFile, kFairseqSpmFile})
    if (std::string spm = io::join_path(folder, name); is_encoder_spm(spm)) return spm;
  std::string pieces = io::join_path(folder, "vocab.json");
  return is_pieces_file(pieces) ? pieces : std::string();
}

std::string segment_command_of(const std::string& vocab, const TokenizerFlags& flags) {
  std::string stored = stored_segment_command(vocab);
  if (!flags.segment_command) return stored;
  if (*flags.segment_command == kNoSegmentCommand) return "";
  if (!stored.empty())
    check_flag(flags.segment_command_name, str("'", *flags.segment_command, "'"),
               str("'", stored, "'"), segment_config_path(vocab));
  return *flags.segment_command;
}

void store_segment_command(const std::string& vocab, const std::string& command) {
  const std::string path = segment_config_path(vocab);
  if (stored_segment_command(vocab) == command) return;
  Json config = config_or_empty(path);
  config.erase(kSegmentCommand);
  if (!command.empty()) config[kSegmentCommand] = command;
  io::write_file(path, config.dump(2) + "\n");
}

// Returns the options stored in a tokenizer.json and its accompanying files.
static std::optional<TokenizerOptions> options_of_json(const std::string& path) {
  if (!io::exists(path) || is_sentencepiece_file(path)) return std::nullopt;
  TokenizerOptions options =
      is_subword_file(path) ? SubwordTokenizer(path).options() : load_tokenizer_json(path).options;
  options.segment_command = stored_segment_command(path);
  return options;
}

std::optional<TokenizerOptions> load_tokenizer_config(const std::string& vocab) {
  if (is_tokenizer_json(vocab) || is_encoder_spm(vocab)) return options_of_json(vocab);
  if (vocab.ends_with(".model")) return std::nullopt;
  const bool of_folder = io::path_name(vocab) == "vocab.txt";
  const auto beside = [&](const char* name) {
    return of_folder ? io::join_path(io::parent_path(vocab), name) : std::string();
  };
  TokenizerFiles files = files_of(tokenizer_config_path(vocab), beside("config.json"));
  const std::string json = beside("tokenizer.json");
  const bool has_json = of_folder && io::exists(json) && !is_sentencepiece_file(json);
  check_class(files, has_json);
  if (has_json) files.json = parse_tokenizer_json(io::read_file(json, io::kSmallFileBytes), json);
  const bool has_added = of_folder && io::exists(beside("added_tokens.json"));
  const bool has_named = std::ranges::any_of(
      kNamedTokens, [&](const char* field) { return files.special.contains(field); });
  if (!files.config && !files.json && !has_added && !has_named) return std::nullopt;
  const auto lines =
      vocabulary_lines(io::exists(vocab) ? io::read_file(vocab, io::kSmallFileBytes) : "");
  TokenizerOptions options;
  if (files.json) {
    options = files.json->options;
    if (!lines.empty()) warn_of_other_pieces(lines, files.json->vocabulary, vocab);
  }
  if (files.config) {
    if (!is_json_class(files.tokenizer_class) || !files.json) take_config(files, options);
    options.control =
        control_of(io::JsonField(*files.config, files.path, files.hint), files.tokenizer_class);
    options.segment_command = stored_segment_command(vocab);
  }
  options.added = added_tokens(files, beside("added_tokens.json"), std::move(options.added), lines);
  return options;
}

TokenizerOptions tokenizer_options(const std::string& vocab, const TokenizerFlags& flags) {
  auto stored = load_tokenizer_config(vocab);
  if (!stored) return options_of(case_of(Vocabulary::load(vocab), flags));
  stored->segment_command = segment_command_of(vocab, flags);
  if (is_subword_file(vocab)) {
    // Does not check the flag for control characters, which only tokenizer.json determines.
    TokenizerFlags without_control = flags;
    without_control.control.reset();
    check_flags(without_control, *stored, vocab);
    return *stored;
  }
  const std::string config = tokenizer_config_path(vocab);
  check_flags(flags, *stored, is_tokenizer_json(vocab) || !io::exists(config) ? vocab : config);
  return *stored;
}

void apply_tokenizer_config(const std::string& tokenizer_json,
                            const std::vector<std::string>& tokens, TokenizerOptions& options) {
  if (io::path_name(tokenizer_json) != "tokenizer.json") return;
  const std::string folder = io::parent_path(tokenizer_json);
  const auto beside = [&](const char* name) { return io::join_path(folder, name); };
  const TokenizerFiles files = files_of(beside("tokenizer_config.json"), beside("config.json"));
  check_class(files, true);
  if (files.config) {
    const bool lower_case = options.lower_case;
    if (!is_json_class(files.tokenizer_class)) take_config(files, options);
    const io::JsonField config(*files.config, files.path, files.hint);
    if (!config["control_characters"].is_null())
      options.control = control_of(config, files.tokenizer_class);
    if (options.lower_case != lower_case)
      log_warning("{}: lowercase is {}, but {} overrides it with {}", tokenizer_json,
                  yes_or_no(lower_case), files.path, yes_or_no(options.lower_case));
  }
  options.added =
      added_tokens(files, beside("added_tokens.json"), std::move(options.added), tokens);
}

// Adds the settings that transformers' BertTokenizer does not support. If there are any, selects
// the class that applies the tokenizer.json unchanged, and adds the defaults of BertTokenizer.
static void add_own_steps(const TokenizerOptions& options, Json& config) {
  if (!options.nfc && !options.zero_width_space && !options.turkic_case) return;
  config["tokenizer_class"] = "PreTrainedTokenizerFast";
  config["model_input_names"] = {"input_ids", "token_type_ids", "attention_mask"};
  config["clean_up_tokenization_spaces"] = false;
  for (const auto& [role, token] : kSpecialTokenRoles) config[role] = token;
  if (options.nfc) config["normalization"] = "NFC";
  if (options.zero_width_space) config["zero_width_space"] = true;
  if (options.turkic_case) config["turkic_case"] = true;
}

Json tokenizer_config_json(const TokenizerOptions& options) {
  Json config{{"do_lower_case", options.lower_case},
              {"strip_accents", nullptr},
              {"tokenize_chinese_chars", options.split_chinese},
              {"control_characters", name(options.control)},
              {"tokenizer_class",
               options.control == ControlCharacters::bert ? "BertTokenizer" : "ElectraTokenizer"}};
  if (options.strip_accents) config["strip_accents"] = *options.strip_accents;
  add_own_steps(options, config);
  if (!options.segment_command.empty()) config[kSegmentCommand] = options.segment_command;
  if (options.max_characters_per_word != kMaxCharactersPerWord)
    config["max_input_chars_per_word"] = options.max_characters_per_word;
  for (const AddedToken& token : options.added)
    config[kDecoder][std::to_string(token.id)] = Json::parse(added_token_json(token).dump());
  return config;
}

void store_options_beside(const std::string& tokenizer_json, const TokenizerOptions& options) {
  if (options.segment_command.empty() && stored_segment_command(tokenizer_json).empty()) return;
  io::write_file(segment_config_path(tokenizer_json),
                 tokenizer_config_json(options).dump(2) + "\n");
}

std::string vocab_txt_config(const TokenizerOptions& options) {
  Json config = tokenizer_config_json(options);
  if (options.control == ControlCharacters::bert && !options.turkic_case)
    config["tokenizer_class"] = "BertTokenizer";
  return config.dump(2) + "\n";
}

void save_tokenizer_config(const std::string& vocab, const TokenizerOptions& options) {
  io::write_file(tokenizer_config_path(vocab), vocab_txt_config(options));
}

void check_flags(const TokenizerFlags& flags, const TokenizerOptions& options,
                 std::string_view origin) {
  if (flags.lower_case)
    check_flag(flags.lower_case_name, yes_or_no(*flags.lower_case), yes_or_no(options.lower_case),
               origin);
  if (flags.strip_accents)
    check_flag(flags.strip_accents_name, yes_or_no(*flags.strip_accents),
               yes_or_no(options.strips_accents()), origin);
  if (flags.control)
    check_flag(flags.control_name, name(*flags.control), name(options.control), origin);
}

TokenizerOptions options_of(const TokenizerFlags& flags) {
  const TokenizerOptions defaults;
  return {.lower_case = flags.lower_case.value_or(defaults.lower_case),
          .strip_accents = flags.strip_accents,
          .control = flags.control.value_or(defaults.control),
          .segment_command = given_segment_command(flags)};
}

TokenizerOptions new_vocabulary_options(const TokenizerFlags& flags, std::string_view language,
                                        std::string_view language_name) {
  const bool lower_case = flags.lower_case.value_or(false),
             strip_accents = flags.strip_accents.value_or(false);
  TokenizerOptions out{.lower_case = lower_case,
                       .strip_accents = {},
                       .control = flags.control.value_or(ControlCharacters::bert),
                       .max_characters_per_word = kNewMaxCharactersPerWord,
                       .nfc = true,
                       .zero_width_space = true};
  if (strip_accents != lower_case) out.strip_accents = strip_accents;
  out.segment_command = given_segment_command(flags);
  out.turkic_case = has_turkic_case(language, language_name) && lower_case;
  return out;
}

}  // namespace smelt::text
