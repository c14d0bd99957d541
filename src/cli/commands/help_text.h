// Wraps help texts to the terminal's width.
#pragma once

#include <cstddef>
#include <string>

namespace smelt::cli {

// Returns the number of columns that help texts are wrapped to: the width of the terminal on
// standard output, else $COLUMNS; npos if neither is known, as in a pipe.
std::size_t help_columns();

// Wraps lines that are longer than `columns`. Continuation lines are indented to the second column
// (the text after two or more spaces), else by four more than the first word.
std::string wrapped(const std::string& text, std::size_t columns);

}  // namespace smelt::cli
