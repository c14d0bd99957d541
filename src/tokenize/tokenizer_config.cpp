#include "tokenize/tokenizer_config.h"

#include "base/error.h"
#include "format/json_field.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

ControlCharacters control_of(const JsonField& config) {
  const JsonField control = config["control_characters"];
  for (const auto known : {ControlCharacters::bert, ControlCharacters::electra})
    if (control.value() == name(known)) return known;
  if (!control.is_null()) control.throw_unexpected(", not \"bert\" or \"electra\"");
  const JsonField tokenizer = config["tokenizer_class"];
  return tokenizer.as<std::string>("").starts_with("Electra") ? ControlCharacters::electra
                                                              : ControlCharacters::bert;
}

void check_flag(std::string_view flag, std::string_view said, std::string_view stored,
                std::string_view origin) {
  if (said == stored) return;
  throw UsageError(str(flag, ": ", said, ", but ", origin, " says ", stored),
                   str("set ", flag, " to ", stored, ", or use a vocabulary that was made so"));
}

std::string_view yes_or_no(bool value) { return value ? "true" : "false"; }

}  // namespace

std::string_view name(ControlCharacters control) {
  return control == ControlCharacters::bert ? "bert" : "electra";
}

std::string tokenizer_config_path(const std::string& vocab) {
  const std::string file = path_name(vocab);
  const std::string stem = file.substr(0, file.rfind('.'));
  return join_path(parent_path(vocab),
                   str(stem == "vocab" ? "" : stem + ".", "tokenizer_config.json"));
}

std::optional<TokenizerOptions> load_tokenizer_config(const std::string& vocab) {
  const std::string path = tokenizer_config_path(vocab);
  if (!exists(path)) return std::nullopt;
  const Json file = Json::parse_or_discard(read_file(path, kSmallFileBytes));
  const std::string hint = str("mend or remove it; it says how ", vocab, " is used");
  if (!file.is_object()) throw UsageError(str(path, ": is not a JSON object"), hint);
  const JsonField config(file, path, hint);
  const TokenizerOptions defaults;
  return TokenizerOptions{
      .lower_case = config["do_lower_case"].as_switch().value_or(defaults.lower_case),
      .strip_accents = config["strip_accents"].as_switch(),
      .control = control_of(config),
      .split_chinese =
          config["tokenize_chinese_chars"].as_switch().value_or(defaults.split_chinese)};
}

Json tokenizer_config_json(const TokenizerOptions& options) {
  Json config{{"do_lower_case", options.lower_case},
              {"strip_accents", nullptr},
              {"tokenize_chinese_chars", options.split_chinese},
              {"control_characters", name(options.control)},
              {"tokenizer_class",
               options.control == ControlCharacters::bert ? "BertTokenizer" : "ElectraTokenizer"}};
  if (options.strip_accents) config["strip_accents"] = *options.strip_accents;
  return config;
}

void save_tokenizer_config(const std::string& vocab, const TokenizerOptions& options) {
  write_file(tokenizer_config_path(vocab), tokenizer_config_json(options).dump(2) + "\n");
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
          .control = flags.control.value_or(defaults.control)};
}

}  // namespace smelt
