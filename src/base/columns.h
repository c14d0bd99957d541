// Widths of texts in a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace smelt {

// Returns how many columns of a terminal the UTF-8 text takes: two for a wide character (Han, kana,
// Hangul and others), none for a mark, one for any other.
std::size_t columns(std::string_view text);

// Returns the text, or its beginning and "…" if it takes more than `most` columns.
std::string shortened_to_columns(std::string_view text, std::size_t most);

}  // namespace smelt
