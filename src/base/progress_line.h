// The terminal line that shows a progress bar, and other output that is written meanwhile.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace smelt {

// A part of a progress bar. If the line is too narrow, parts with the highest `rank` are dropped
// first, and among parts of equal rank the last one first. Parts of rank 0 are never dropped.
struct LinePart {
  std::string text;
  int rank = 0;
  bool after_comma = false;  // preceded by a comma instead of a space
};

// Returns the parts joined into a line of at most `columns` terminal columns.
std::string fitted_line(std::vector<LinePart> parts, std::size_t columns);

// Returns the current width of standard error's terminal, or 80 if unknown.
std::size_t terminal_columns();

// Replaces the drawn line by `text`. `owner` identifies the progress bar.
void draw_line(const void* owner, const std::string& text);
// Leaves the owner's line on the screen, if it is the one shown, and continues below it.
void end_line(const void* owner);

// While an object of this class exists, whole lines may be written to standard error: the progress
// bar is cleared first and redrawn afterwards. Other threads wait.
class ProgressPause {
 public:
  ProgressPause();
  ~ProgressPause();
  ProgressPause(const ProgressPause&) = delete;
  ProgressPause& operator=(const ProgressPause&) = delete;
};

}  // namespace smelt
