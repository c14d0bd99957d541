#include "format/json_difference.h"

#include "base/str.h"

namespace smelt {

std::optional<JsonDifference> first_difference(const nlohmann::json& was, const nlohmann::json& is,
                                               const std::string& name) {
  if (was.is_object() && is.is_object()) {
    for (const auto& [key, value] : is.items())
      if (was.contains(key))
        if (auto found =
                first_difference(was[key], value, name.empty() ? key : str(name, ".", key)))
          return found;
    return std::nullopt;
  }
  if (was.is_array() && is.is_array() && was.size() == is.size()) {
    for (std::size_t i = 0; i < is.size(); ++i)
      if (auto found = first_difference(was[i], is[i], name)) return found;
    return std::nullopt;
  }
  if (was == is) return std::nullopt;
  return JsonDifference{.name = name, .was = was, .is = is};
}

}  // namespace smelt
