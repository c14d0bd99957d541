// Structs of settings. A struct names its fields once, in a visitor function from which recipes,
// JSON and help texts are made:
//   template <class C, class V>
//   void visit_fields(C& config, V&& visit) {  // in the struct's namespace, found by ADL
//     visit("hidden_size", config.hidden_size, "width of the encoder");
//   }
// A field is a string, an integer, a number, a boolean, or an enumeration with NamedValues
// words_of(value) (base/choice.h), which is found by argument-dependent lookup.
// A std::optional of such an enumeration is "auto" if it has no value. A config may contain another
// one as a nested section: see visit_section().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/choice.h"
#include "base/error.h"
#include "base/json.h"

namespace smelt::io {

struct ConfigField {
  std::string name;
  Json default_value;
  std::string help;                       // with the unit
  std::vector<std::string> choices = {};  // names of an enumeration's values; empty: any value
};

// Returns the name of the value's kind, such as "a text" or "a whole number".
const char* kind_name(const Json& value);

// Throws UsageError, beginning with `where`, if the value is not of the same kind as the default.
void check_kind(const Json& value, const Json& default_value, const std::string& name,
                const std::string& where);

inline constexpr const char* kAutoWord = "auto";  // the word for a std::optional without a value

template <class Value>
struct OptionalChoice : std::false_type {};
template <class Value>
struct OptionalChoice<std::optional<Value>> : std::is_enum<Value> {
  using Choice = Value;
};

template <class Value>
Json field_json(const Value& value) {
  if constexpr (OptionalChoice<Value>::value)
    return value ? field_json(*value) : Json(kAutoWord);
  else if constexpr (std::is_enum_v<Value>)
    return std::string(word_of(value, words_of(value)));
  else
    return value;
}

// Returns the words that a field of this type may have; an empty list if the type is not an
// enumeration.
template <class Value>
std::vector<std::string> field_choices_of(const Value& value) {
  std::vector<std::string> out;
  if constexpr (OptionalChoice<Value>::value) {
    out = field_choices_of(typename OptionalChoice<Value>::Choice());
    out.insert(out.begin(), kAutoWord);
  } else if constexpr (std::is_enum_v<Value>) {
    for (const auto& [word, its_value] : words_of(value)) out.emplace_back(word);
  }
  return out;
}

// Returns the enumeration value with this name, one of field_choices_of(). Throws UsageError,
// beginning with `where`, for another word.
template <class Value>
Value field_choice(const std::string& where, const std::string& word) {
  if constexpr (OptionalChoice<Value>::value) {
    using Choice = typename OptionalChoice<Value>::Choice;
    return word == kAutoWord ? Value() : Value(field_choice<Choice>(where, word));
  } else {
    return choose_of(where, word, words_of(Value()));
  }
}

// Visits the fields of a config that is a member of another one, under the names "<name>.<field>".
template <class Section, class Visitor>
void visit_section(const char* name, Section& section, Visitor&& visit) {
  visit_fields(section, [&](const char* field, auto& value, const char* help) {
    visit((std::string(name) + "." + field).c_str(), value, help);
  });
}

template <class Config>
std::vector<ConfigField> config_fields() {
  std::vector<ConfigField> fields;
  const Config defaults;
  visit_fields(defaults, [&](const char* name, const auto& value, const char* help) {
    fields.push_back({name, field_json(value), help, field_choices_of(value)});
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

// Returns a config with the values in the object, and defaults for the other fields. Ignores names
// in the object that are not fields; the caller must check them.
template <class Config>
Config parse_config(const Json& object, const std::string& where) {
  Config config;
  visit_fields(config, [&](const char* name, auto& field, const char*) {
    const auto found = object.find(name);
    if (found == object.end()) return;
    using Value = std::decay_t<decltype(field)>;
    check_kind(*found, field_json(field), name, where);
    if constexpr (std::is_enum_v<Value> || OptionalChoice<Value>::value)
      field = field_choice<Value>(str(where, ": ", name), found->template get<std::string>());
    else
      field = found->template get<Value>();
  });
  return config;
}

}  // namespace smelt::io
