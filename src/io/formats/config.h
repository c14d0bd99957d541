// Structs of settings whose fields are named once, in a visitor that serves recipes, JSON and help:
//   template <class C, class V>
//   void visit_fields(C& config, V&& visit) {  // beside the struct, found by its argument
//     visit("hidden_size", config.hidden_size, "width of the encoder");
//   }
// A field is a string, an integer, a number, a boolean, or an enumeration with NamedValues
// words_of(value) (base/choice.h), which is found by argument-dependent lookup.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/choice.h"
#include "base/error.h"
#include "base/json.h"

namespace smelt {

struct ConfigField {
  std::string name;
  Json default_value;
  std::string help;  // with the unit
};

// "a text", "a whole number", …: what values of this one's kind are called.
const char* kind_name(const Json& value);

// UsageError when the value is not of the default's kind; `where` begins the message.
void check_kind(const Json& value, const Json& default_value, const std::string& name,
                const std::string& where);

template <class Value>
Json field_json(const Value& value) {
  if constexpr (std::is_enum_v<Value>)
    return std::string(word_of(value, words_of(value)));
  else
    return value;
}

template <class Config>
std::vector<ConfigField> config_fields() {
  std::vector<ConfigField> fields;
  const Config defaults;
  visit_fields(defaults, [&](const char* name, const auto& value, const char* help) {
    fields.push_back({name, field_json(value), help});
  });
  return fields;
}

template <class Config>
Json config_json(const Config& config) {
  Json json = Json::object();
  visit_fields(config, [&](const char* name, const auto& value, const char*) {
    json[name] = field_json(value);
  });
  return json;
}

// Defaults, and what the object says over them; names that no field has are left to the caller.
template <class Config>
Config parse_config(const Json& object, const std::string& where) {
  Config config;
  visit_fields(config, [&](const char* name, auto& field, const char*) {
    const auto found = object.find(name);
    if (found == object.end()) return;
    using Value = std::decay_t<decltype(field)>;
    check_kind(*found, field_json(field), name, where);
    if constexpr (std::is_enum_v<Value>)
      field =
          choose_of(str(where, ": ", name), found->template get<std::string>(), words_of(field));
    else
      field = found->template get<Value>();
  });
  return config;
}

}  // namespace smelt
