#include "model/models/bert_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"
#include "io/formats/config.h"
#include "model/nn/layers.h"

namespace smelt::model {
namespace {

// Fields of released configs that have no effect here.
constexpr std::array<std::string_view, 6> kIgnored{
    "directionality",       "pooler_fc_size",       "pooler_num_attention_heads",
    "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"};

void check_unknown_fields(const Json& json, const std::string& where) {
  std::vector<std::string> known;
  for (const io::ConfigField& field : io::config_fields<BertConfig>()) known.push_back(field.name);
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (std::find(kIgnored.begin(), kIgnored.end(), key) != kIgnored.end()) continue;
    if (const auto nearest = nearest_name(key, known); nearest && !json.contains(*nearest))
      throw UsageError(str(where, ": unknown field '", key, "'"), did_you_mean(key, known));
  }
}

}  // namespace

std::int64_t head_width(const BertConfig& c) {
  return c.attention_head_size > 0 ? c.attention_head_size : c.hidden_size / c.num_attention_heads;
}

std::int64_t attention_width(const BertConfig& c) { return c.num_attention_heads * head_width(c); }

void check_bert_config(const BertConfig& c, const std::string& where) {
  check_bert_config(c, [&](const std::string&) { return where; });
}

void check_bert_config(const BertConfig& c,
                       const std::function<std::string(const std::string& field)>& where) {
  visit_fields(c, [&](const char* name, const auto& value, const char*) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>)
      if (value <= 0)
        throw UsageError(str(where(name), ": ", name, " is ", value, ", must be at least 1"),
                         str("set ", name));
  });
  if (c.attention_head_size == 0 && c.hidden_size % c.num_attention_heads != 0)
    throw UsageError(
        str(where("hidden_size"), ": hidden_size ", c.hidden_size,
            " is not a multiple of num_attention_heads ", c.num_attention_heads),
        "choose a number of heads that divides hidden_size, for example hidden_size / 64");
  if (std::ranges::find(activation_names(), c.hidden_act) == activation_names().end())
    throw UsageError(str(where("hidden_act"), ": hidden_act is '", c.hidden_act, "'"),
                     did_you_mean(c.hidden_act, activation_names()));
  for (const auto& [name, rate] :
       {std::pair{"hidden_dropout_prob", c.hidden_dropout_prob},
        {"attention_probs_dropout_prob", c.attention_probs_dropout_prob}})
    if (!(rate >= 0 && rate < 1))
      throw UsageError(str(where(name), ": ", name, " is ", rate, ", must be in [0, 1)"),
                       str("set ", name, ", usually 0.1"));
  if (!(c.initializer_range >= 0 && std::isfinite(c.initializer_range)))
    throw UsageError(str(where("initializer_range"), ": initializer_range is ", c.initializer_range,
                         ", must be a finite number of at least 0"),
                     "0.02 is usual");
}

BertConfig parse_bert_config(const std::string& text, const std::string& where) {
  const auto json = Json::parse_or_discard(text);
  if (!json.is_object())
    throw UsageError(str(where, ": not a JSON object"), "use the format of bert_config.json");
  check_unknown_fields(json, where);
  if (!json.contains("vocab_size"))
    throw UsageError(str(where, ": vocab_size is missing"),
                     "set it to the number of lines of vocab.txt");
  auto config = io::parse_config<BertConfig>(json, where);
  if (config.hidden_act == "gelu_new") config.hidden_act = "gelu";  // the name in transformers
  check_bert_config(config, where);
  return config;
}

}  // namespace smelt::model
