// Suggestions for misspelt names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

// Returns the known name with the fewest edits from `name`, or the first of several equally near
// names. A swap of neighbouring letters counts as one edit. Returns nullopt if all names need more
// than max(2, a third of the length of `name`) edits, or more than 1 if `name` has up to three
// letters.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> known);

// Returns "did you mean 'X'?", or "known: a, b, c" if no known name is similar.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace smelt
