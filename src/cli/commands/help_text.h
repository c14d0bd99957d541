// Help texts, wrapped to the terminal's width.
#pragma once

#include <cstddef>
#include <string>

namespace smelt {

// Returns the columns that help is wrapped to: those of the terminal on standard output, else those
// of $COLUMNS; npos if neither is known, as in a pipe.
std::size_t help_columns();

// Wraps each line that is longer. The lines that follow it begin below its second column, which
// stands behind two or more spaces, else four columns to the right of its first word.
std::string wrapped(const std::string& text, std::size_t columns);

}  // namespace smelt
