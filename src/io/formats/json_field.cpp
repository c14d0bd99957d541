#include "io/formats/json_field.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest_name.h"

namespace smelt::io {
namespace {

std::string shown(const Json& value) {
  if (value.is_null()) return "missing";
  if (value.is_structured()) return str("an ", value.type_name());
  const std::string text = value.dump();
  return text.size() < 60 ? text : text.substr(0, 57) + "...";
}

}  // namespace

JsonField JsonField::operator[](std::string_view key) const {
  static const Json kNull;
  const std::string name = name_.empty() ? std::string(key) : str(name_, ".", key);
  const auto found = value_.is_object() ? value_.find(std::string(key)) : value_.end();
  return {value_.is_object() && found != value_.end() ? *found : kNull, name, path_, hint_};
}

std::optional<bool> JsonField::as_switch() const {
  if (is_null()) return std::nullopt;
  if (!value_.is_boolean()) throw_unexpected(", not true or false");
  return value_.get<bool>();
}

std::int64_t JsonField::as_integer(std::int64_t where_null, std::int64_t least) const {
  const std::int64_t value = as_number<std::int64_t>().value_or(where_null);
  if (value < least) throw_unexpected(str(", expected at least ", least));
  return value;
}

void JsonField::check_members(std::string_view kind, std::span<const std::string> known) const {
  for (const auto& [name, value] : value_.items())
    if (std::ranges::find(known, name) == known.end())
      throw UsageError(str(path_, ": unknown ", kind, " '", name, "'"), did_you_mean(name, known));
}

std::vector<std::string> JsonField::as_texts() const {
  std::vector<std::string> texts;
  if (is_null()) return texts;
  if (!value_.is_array()) refuse("not a list");
  for (const Json& item : value_) {
    if (!item.is_string()) refuse("not a list of strings");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

void JsonField::expect(std::string_view wanted) const {
  if (value_ != wanted) throw_unexpected(str(", not \"", wanted, "\""));
}

void JsonField::throw_unexpected(std::string_view wanted) const {
  throw UsageError(str(path_, ": ", name_, " is ", shown(value_), wanted), hint_);
}

void JsonField::refuse(std::string_view problem) const {
  throw UsageError(str(path_, ": ", name_, name_.empty() ? "" : " is ", problem), hint_);
}

}  // namespace smelt::io
