#include "models/bert_config.h"

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"
#include "store/file.h"

namespace smelt {
namespace {

// One place for the names: visits every field of a config with its name.
template <class Config, class Visitor>
void visit_fields(Config& c, Visitor&& visit) {
  visit("vocab_size", c.vocab_size);
  visit("hidden_size", c.hidden_size);
  visit("num_hidden_layers", c.num_hidden_layers);
  visit("num_attention_heads", c.num_attention_heads);
  visit("intermediate_size", c.intermediate_size);
  visit("hidden_act", c.hidden_act);
  visit("hidden_dropout_prob", c.hidden_dropout_prob);
  visit("attention_probs_dropout_prob", c.attention_probs_dropout_prob);
  visit("max_position_embeddings", c.max_position_embeddings);
  visit("type_vocab_size", c.type_vocab_size);
  visit("initializer_range", c.initializer_range);
}

// Fields that released configs carry and that mean nothing here.
constexpr std::array<std::string_view, 6> kIgnored{
    "directionality",       "pooler_fc_size",       "pooler_num_attention_heads",
    "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"};

void check_unknown_fields(const nlohmann::json& json, const std::string& where) {
  std::vector<std::string> known;
  BertConfig reference;
  visit_fields(reference, [&](const char* name, auto&) { known.emplace_back(name); });
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (std::find(kIgnored.begin(), kIgnored.end(), key) != kIgnored.end()) continue;
    if (const auto nearest = nearest_name(key, known); nearest && !json.contains(*nearest))
      throw UsageError(str(where, ": unknown field '", key, "'"), did_you_mean(key, known));
  }
}

template <class T>
void read_field(const nlohmann::json& json, const char* name, T& field, const std::string& where) {
  if (!json.contains(name)) return;
  const nlohmann::json& value = json[name];
  const bool fits = std::is_same_v<T, std::string>    ? value.is_string()
                    : std::is_same_v<T, std::int64_t> ? value.is_number_integer()
                                                      : value.is_number();
  if (!fits)
    throw UsageError(str(where, ": ", name, " is ", value.dump(), ", not ",
                         std::is_same_v<T, std::string>    ? "a text"
                         : std::is_same_v<T, std::int64_t> ? "a whole number"
                                                           : "a number"),
                     "correct the value");
  field = value.get<T>();
}

}  // namespace

void check_bert_config(const BertConfig& c, const std::string& where) {
  visit_fields(c, [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>)
      if (value <= 0)
        throw UsageError(str(where, ": ", name, " is ", value, ", must be at least 1"),
                         str("set ", name));
  });
  if (c.hidden_size % c.num_attention_heads != 0)
    throw UsageError(str(where, ": hidden_size ", c.hidden_size,
                         " is not a multiple of num_attention_heads ", c.num_attention_heads),
                     "choose heads that divide the hidden size, e.g. hidden_size / 64");
  for (const auto& [name, rate] :
       {std::pair{"hidden_dropout_prob", c.hidden_dropout_prob},
        {"attention_probs_dropout_prob", c.attention_probs_dropout_prob}})
    if (rate < 0 || rate >= 1)
      throw UsageError(str(where, ": ", name, " is ", rate, ", must be in [0, 1)"),
                       str("set ", name, ", usually 0.1"));
}

BertConfig parse_bert_config(const std::string& text, const std::string& where) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    throw UsageError(str(where, ": not a JSON object"), "it should look like bert_config.json");
  check_unknown_fields(json, where);
  if (!json.contains("vocab_size"))
    throw UsageError(str(where, ": vocab_size is missing"), "set it to the lines of vocab.txt");
  BertConfig config;
  visit_fields(config,
               [&](const char* name, auto& field) { read_field(json, name, field, where); });
  check_bert_config(config, where);
  return config;
}

BertConfig load_bert_config(const std::string& path) {
  return parse_bert_config(read_file(path, kSmallFileBytes), path);
}

nlohmann::json bert_config_json(const BertConfig& config) {
  nlohmann::json json;
  visit_fields(config, [&](const char* name, const auto& field) { json[name] = field; });
  return json;
}

}  // namespace smelt
