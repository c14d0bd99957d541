#include "tokenize/tokenizer_json.h"

#include <map>

#include "base/error.h"
#include "format/json_field.h"
#include "store/path.h"

namespace smelt {
namespace {

constexpr std::string_view kUnknown = "[UNK]",
                           kHint = "give the tokenizer.json of a BERT or ELECTRA model";

TokenizerOptions parse_options(const JsonField& root) {
  const JsonField normalizer = root["normalizer"], model = root["model"];
  normalizer["type"].expect("BertNormalizer");
  root["pre_tokenizer"]["type"].expect("BertPreTokenizer");
  TokenizerOptions options;
  if (!normalizer["clean_text"].as_switch().value_or(true))
    normalizer["clean_text"].throw_unexpected(", not true");
  options.lower_case = normalizer["lowercase"].as_switch().value_or(true);
  options.strip_accents = normalizer["strip_accents"].as_switch();
  options.split_chinese = normalizer["handle_chinese_chars"].as_switch().value_or(true);
  options.control = ControlCharacters::electra;
  const JsonField limit = model["max_input_chars_per_word"];
  const auto characters = limit.as(static_cast<std::int64_t>(options.max_characters_per_word));
  if (characters < 1) limit.throw_unexpected(", not at least 1");
  options.max_characters_per_word = static_cast<std::size_t>(characters);
  return options;
}

std::vector<std::string> tokens_by_id(const JsonField& root, const std::string& path) {
  const auto vocab = root["model"]["vocab"].as<std::map<std::string, std::int64_t>>();
  std::map<std::int64_t, std::string> by_id;
  const auto add = [&](const std::string& token, std::int64_t id) {
    const auto [found, added] = by_id.emplace(id, token);
    if (!added && found->second != token)
      throw UsageError(str(path, ": id ", id, " is both '", found->second, "' and '", token, "'"),
                       kHint);
  };
  for (const auto& [token, id] : vocab) add(token, id);
  for (const Json& added : root["added_tokens"].value()) {
    const JsonField field(added, path, kHint);
    add(field["content"].as<std::string>(), field["id"].as<std::int64_t>());
  }
  std::vector<std::string> tokens;
  for (auto& [id, token] : by_id) {
    if (id != std::ssize(tokens))
      throw UsageError(
          str(path, ": '", token, "' has id ", id, ", but no token has id ", tokens.size()), kHint);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

OrderedJson template_of(const Vocabulary& vocabulary) {
  const auto special = [](const char* token, int type) {
    return OrderedJson{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) {
    return OrderedJson{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  OrderedJson tokens;
  for (const char* token : {"[CLS]", "[SEP]"})
    tokens[token] = {{"id", token}, {"ids", {vocabulary.id(token)}}, {"tokens", {token}}};
  const OrderedJson one{special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)};
  OrderedJson two = one;
  two.push_back(sequence("B", 1));
  two.push_back(special("[SEP]", 1));
  return {
      {"type", "TemplateProcessing"}, {"single", one}, {"pair", two}, {"special_tokens", tokens}};
}

OrderedJson special_tokens(const Vocabulary& vocabulary) {
  OrderedJson added = OrderedJson::array();
  for (std::int32_t id = 0; id < vocabulary.size(); ++id)
    for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
      if (vocabulary.token(id) == special)
        added.push_back({{"id", id},
                         {"content", special},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", true}});
  return added;
}

}  // namespace

bool is_tokenizer_json(std::string_view path) { return path_name(path).ends_with(".json"); }

WordPieceModel parse_tokenizer_json(std::string_view text, const std::string& path) {
  const Json file = Json::parse_or_discard(text);
  if (!file.is_object()) throw UsageError(str(path, ": is not a JSON object"), kHint);
  const JsonField root(file, path, kHint);
  if (!root["model"]["type"].is_null() || root["model"]["continuing_subword_prefix"].is_null())
    root["model"]["type"].expect("WordPiece");
  root["model"]["unk_token"].expect(kUnknown);
  const auto prefix = root["model"]["continuing_subword_prefix"].as(std::string(kContinuingPrefix));
  return {Vocabulary(tokens_by_id(root, path), path, prefix), parse_options(root)};
}

std::string tokenizer_json(const Vocabulary& vocabulary, const TokenizerOptions& options) {
  OrderedJson vocab;
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) vocab[vocabulary.token(id)] = id;
  const OrderedJson strip =
      options.strip_accents ? OrderedJson(*options.strip_accents) : OrderedJson(nullptr);
  const OrderedJson file{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", special_tokens(vocabulary)},
      {"normalizer",
       {{"type", "BertNormalizer"},
        {"clean_text", true},
        {"handle_chinese_chars", options.split_chinese},
        {"strip_accents", strip},
        {"lowercase", options.lower_case}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor", template_of(vocabulary)},
      {"decoder",
       {{"type", "WordPiece"}, {"prefix", vocabulary.continuing_prefix()}, {"cleanup", true}}},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", kUnknown},
        {"continuing_subword_prefix", vocabulary.continuing_prefix()},
        {"max_input_chars_per_word", options.max_characters_per_word},
        {"vocab", vocab}}}};
  return file.dump(2) + "\n";
}

}  // namespace smelt
