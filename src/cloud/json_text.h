// Texts in servers' answers, which may be anything.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace smelt {

// "" where there is no such field, or it is no text.
inline std::string text_in(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace smelt
