#include "text/tokenizer_config.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "store/file.h"
#include "store/folder.h"

namespace smelt {
namespace {

using nlohmann::json;

std::optional<bool> switch_of(const json& config, const char* key, const std::string& path) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>();
  throw UsageError(str(path, ": ", key, " is ", found->dump(), ", not true or false"), str("mend or remove ", key));
}

ControlCharacters control_of(const json& config, const std::string& path) {
  const json control = config.value("control_characters", json());
  if (control == name(ControlCharacters::bert)) return ControlCharacters::bert;
  if (control == name(ControlCharacters::electra)) return ControlCharacters::electra;
  if (!control.is_null())
    throw UsageError(str(path, ": control_characters is ", control.dump(), ", not \"bert\" or \"electra\""),
                     "mend or remove control_characters");
  const json tokenizer = config.value("tokenizer_class", json());
  return tokenizer.is_string() && tokenizer.get<std::string>().starts_with("Electra") ? ControlCharacters::electra
                                                                                      : ControlCharacters::bert;
}

void check_flag(std::string_view flag, std::string_view said, std::string_view stored, std::string_view origin) {
  if (said == stored) return;
  throw UsageError(str("--", flag, ": ", said, ", but ", origin, " says ", stored),
                   str("leave --", flag, " out, or use a vocabulary that was made so"));
}

std::string_view yes_or_no(bool value) { return value ? "true" : "false"; }

}  // namespace

std::string_view name(ControlCharacters control) {
  return control == ControlCharacters::bert ? "bert" : "electra";
}

std::string tokenizer_config_path(const std::string& vocab) {
  const std::size_t folder = vocab.rfind('/') + 1;  // 0 without a slash
  const std::string file = vocab.substr(folder);
  const std::string stem = file.substr(0, file.rfind('.'));
  return str(vocab.substr(0, folder), stem == "vocab" ? "" : stem + ".", "tokenizer_config.json");
}

std::optional<TokenizerOptions> load_tokenizer_config(const std::string& vocab) {
  const std::string path = tokenizer_config_path(vocab);
  if (!exists(path)) return std::nullopt;
  const json config = json::parse(read_file(path), nullptr, false);
  if (!config.is_object())
    throw UsageError(str(path, ": is not a JSON object"), str("mend or remove it; it says how ", vocab, " is used"));
  const TokenizerOptions defaults;
  return TokenizerOptions{
      .lower_case = switch_of(config, "do_lower_case", path).value_or(defaults.lower_case),
      .strip_accents = switch_of(config, "strip_accents", path),
      .control = control_of(config, path),
      .split_chinese = switch_of(config, "tokenize_chinese_chars", path).value_or(defaults.split_chinese)};
}

void save_tokenizer_config(const std::string& vocab, const TokenizerOptions& options) {
  json config{{"do_lower_case", options.lower_case},
              {"strip_accents", nullptr},
              {"tokenize_chinese_chars", options.split_chinese},
              {"control_characters", name(options.control)},
              {"tokenizer_class", options.control == ControlCharacters::bert ? "BertTokenizer" : "ElectraTokenizer"}};
  if (options.strip_accents) config["strip_accents"] = *options.strip_accents;
  write_file(tokenizer_config_path(vocab), config.dump(2) + "\n");
}

void check_flags(const TokenizerFlags& flags, const TokenizerOptions& options, std::string_view origin) {
  if (flags.lower_case)
    check_flag("lower-case", yes_or_no(*flags.lower_case), yes_or_no(options.lower_case), origin);
  if (flags.strip_accents)
    check_flag("strip-accents", yes_or_no(*flags.strip_accents), yes_or_no(options.strips_accents()), origin);
  if (flags.control) check_flag("control-characters", name(*flags.control), name(options.control), origin);
}

TokenizerOptions options_of(const TokenizerFlags& flags) {
  const TokenizerOptions defaults;
  return {.lower_case = flags.lower_case.value_or(defaults.lower_case),
          .strip_accents = flags.strip_accents,
          .control = flags.control.value_or(defaults.control)};
}

}  // namespace smelt
