// The line of a terminal that a progress bar is drawn on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace smelt {

// A part of a bar's line. If the terminal is too narrow, parts with the highest `rank` are left out
// first, the last one among equals; rank 0 is always shown.
struct LinePart {
  std::string text;
  int rank = 0;
  bool after_comma = false;  // else after a space
};

// Returns the parts that fit into `columns` columns as one line.
std::string fitted_line(std::vector<LinePart> parts, std::size_t columns);

// Returns the current width of the terminal on standard error; 80 if unknown.
std::size_t terminal_columns();

// Draws the text over the line that was drawn before. `owner` identifies the bar.
void draw_line(const void* owner, const std::string& text);
// Leaves the owner's line on the screen, if it is shown; later output begins below it.
void end_line(const void* owner);

// Allows to write whole lines to standard error while it lives: the bar is cleared first and drawn
// again afterwards. Only one thread has it at a time.
class LineAside {
 public:
  LineAside();
  ~LineAside();
  LineAside(const LineAside&) = delete;
  LineAside& operator=(const LineAside&) = delete;
};

}  // namespace smelt
