// Width of text in a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace smelt {

// Returns the number of terminal columns that UTF-8 text takes: two for a wide character (Han,
// kana, Hangul and others), zero for a combining mark, one for any other character.
std::size_t columns(std::string_view text);

// Returns the text, truncated to `most` columns and ended by "…" if it is longer.
std::string shortened_to_columns(std::string_view text, std::size_t most);

}  // namespace smelt
