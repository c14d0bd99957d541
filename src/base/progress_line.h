// The one line of a terminal that a bar is redrawn on, and what else is written there meanwhile.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace smelt {

// A part of a bar's line. Where there is no room for all, those of the highest `rank` go first,
// among equals the last; rank 0 stays.
struct LinePart {
  std::string text;
  int rank = 0;
  bool after_comma = false;  // else after a space
};

// In at most `columns` columns of the terminal.
std::string fitted_line(std::vector<LinePart> parts, std::size_t columns);

// Columns of standard error as they are now, for it may be resized; 80 where it does not say.
std::size_t terminal_columns();

// Draws the text over the line that was drawn before; `owner` is whose it is.
void draw_line(const void* owner, const std::string& text);
// The owner's line, if it is the one that is shown, stays as it is, and what follows begins below.
void end_line(const void* owner);

// While it lives, whole lines may be written to standard error: what a bar has drawn is cleared
// first and drawn again afterwards. Threads wait for one another.
class LineAside {
 public:
  LineAside();
  ~LineAside();
  LineAside(const LineAside&) = delete;
  LineAside& operator=(const LineAside&) = delete;
};

}  // namespace smelt
