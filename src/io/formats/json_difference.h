// Differences of two JSON values, in fields that both have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace smelt::io {

struct JsonDifference {
  std::string name;  // "model.num_hidden_layers"; for an element of a list, the name of the list
  Json was, is;
};

// Returns the differences in order, only the first one within a list. Fields that only one object
// has are ignored, because versions may differ. `name` is the prefix of the names.
std::vector<JsonDifference> differences(const Json& was, const Json& is,
                                        const std::string& name = "");
// Returns the first difference, or nullopt if the values are equal.
std::optional<JsonDifference> first_difference(const Json& was, const Json& is,
                                               const std::string& name = "");

}  // namespace smelt::io
