// Progress of long work on standard error: a bar with rate and time left on a terminal, in one line
// however narrow that is, plain timed lines otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace smelt {

class Progress {
 public:
  static constexpr std::string_view kBytes = "bytes";  // which are shown as kB, MB, …

  // `total` items named `unit` ("steps", or kBytes); `done` of them were done before.
  Progress(std::string_view label, std::int64_t total, std::string_view unit,
           std::int64_t done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `detail` are figures, separated by ", ", the most useful first: a narrow terminal leaves out
  // the others. Draws at most a few times a second on a terminal, every half minute otherwise.
  void update(std::int64_t done, std::string_view detail = {});
  // Whether update() would draw.
  bool is_due(std::int64_t done) const;
  // The bar makes way for one whole line.
  void line(std::string_view text);
  double seconds() const;
  bool on_terminal() const { return terminal_; }

 private:
  void draw(std::int64_t done, std::string_view detail) const;
  std::string amount(double value, int digits) const;

  std::string label_, unit_;
  std::int64_t total_, first_;
  Clock::time_point start_ = Clock::now(), next_draw_;
  bool drew_end_ = false;  // of what is read ahead some is still being worked on then
  bool terminal_;
};

// "999 B", "1.5 kB", "20.0 GB"
std::string bytes_text(double bytes);
// "1:02:03" or "4:05"
std::string duration_text(double seconds);

}  // namespace smelt
