#include "io/formats/json_difference.h"

#include <algorithm>
#include <iterator>

#include "base/str.h"

namespace smelt::io {

std::vector<JsonDifference> differences(const Json& was, const Json& is, const std::string& name) {
  std::vector<JsonDifference> out;
  if (was.is_object() && is.is_object()) {
    for (const auto& [key, value] : is.items())
      if (was.contains(key))
        std::ranges::move(differences(was[key], value, name.empty() ? key : str(name, ".", key)),
                          std::back_inserter(out));
    return out;
  }
  if (was.is_array() && is.is_array() && was.size() == is.size()) {
    for (std::size_t i = 0; i < is.size() && out.empty(); ++i)
      out = differences(was[i], is[i], name);
    return out;
  }
  if (was != is) out.push_back({.name = name, .was = was, .is = is});
  return out;
}

std::optional<JsonDifference> first_difference(const Json& was, const Json& is,
                                               const std::string& name) {
  const auto all = differences(was, is, name);
  if (all.empty()) return std::nullopt;
  return all.front();
}

}  // namespace smelt::io
