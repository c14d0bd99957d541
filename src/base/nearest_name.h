// Suggestions for misspelt names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

// Returns the known name with the fewest edits from `name`, or the first of several. A swap of
// neighbouring letters counts as one edit. Returns nullopt if all need more than max(2, a third of
// the name's length) edits, or more than 1 for a name of up to three letters.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> known);

// Returns "did you mean 'X'?", or "known: a, b, c" if no known name is similar.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace smelt
