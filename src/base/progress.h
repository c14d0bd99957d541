// Progress of long work on standard error: on a terminal a one-line bar with rate and time left,
// otherwise a log line from time to time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace smelt {

class Progress {
 public:
  static constexpr std::string_view kBytes = "bytes";  // shown as kB, MB, …

  // `total` is the number of items, called `unit` ("steps", or kBytes); 0: unknown. `done` of them
  // were completed earlier.
  Progress(std::string_view label, std::int64_t total, std::string_view unit,
           std::int64_t done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows that `done` items are complete. `detail` holds metrics separated by ", ", the most useful
  // first; a narrow terminal omits the last ones. Draws at most a few times a second on a terminal,
  // otherwise every 30 seconds.
  void update(std::int64_t done, std::string_view detail = {});
  // Returns whether update() would draw.
  bool is_due(std::int64_t done) const;
  // Prints a whole line above the bar.
  void line(std::string_view text);
  double seconds() const;
  bool on_terminal() const { return terminal_; }

 private:
  void draw(std::int64_t done, std::string_view detail) const;
  std::string amount(double value, int digits) const;

  std::string label_, unit_;
  std::int64_t total_, first_;
  Clock::time_point start_ = Clock::now(), next_draw_;
  bool drew_end_ = false;  // the bar was drawn at 100 %; updates after that obey next_draw_
  bool terminal_;
};

// Formats a size: "999 B", "1.5 kB", "20.0 GB".
std::string bytes_text(double bytes);
// Formats a duration: "1:02:03" or "4:05".
std::string duration_text(double seconds);

}  // namespace smelt
