// Access to JSON fields of server responses, which may have any form.
#pragma once

#include <string>

#include "base/json.h"

namespace smelt::io {

// Returns a text field, or "" if it is missing or not a text.
inline std::string text_in(const Json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns an object field, or an empty value if it is missing or not an object.
inline Json object_in(const Json& object, const char* name) {
  if (!object.is_object()) return Json::object();
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : Json::object();
}
inline Json array_in(const Json& object, const char* name) {
  if (!object.is_object()) return Json::array();
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : Json::array();
}

// Returns whether a field exists and is true.
inline bool is_true(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && *found == true;
}

// Return the last part ("n") and the zone ("z") of a Google resource name such as
// "projects/p/locations/z/nodes/n".
inline std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }
inline std::string zone_in(const std::string& name) {
  constexpr std::string_view kBefore = "/locations/";
  const std::size_t at = name.find(kBefore);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kBefore.size();
  return name.substr(begin, name.find('/', begin) - begin);
}

}  // namespace smelt::io
