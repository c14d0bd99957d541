// "did you mean": the known name closest to a misspelt one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

// The fewest edits win (a swap of neighbouring letters is one), ties to the first; nullopt when all
// are more than max(2, a third of the name's length) edits away, 1 of a name of up to three
// letters.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> known);

// "did you mean 'X'?" or, with no near name, "known: a, b, c".
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace smelt
