// Where two JSON values differ, of what both sides know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace smelt {

struct JsonDifference {
  std::string name;  // "model.num_hidden_layers"; an element of a list bears the list's name
  Json was, is;
};

// The differences in order; of a list the first. A field of an object that only one side has, as of
// another version, is not compared. `name` begins the differences' names.
std::vector<JsonDifference> differences(const Json& was, const Json& is,
                                        const std::string& name = "");
// Returns the first difference, or nullopt.
std::optional<JsonDifference> first_difference(const Json& was, const Json& is,
                                               const std::string& name = "");

}  // namespace smelt
