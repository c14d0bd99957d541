#include "base/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "base/columns.h"
#include "base/str.h"

namespace smelt {
namespace {

constexpr const char* kClear = "\r\033[K";

struct ShownLine {
  std::recursive_mutex mutex;  // recursive, because writing a line may log on the same thread
  std::vector<std::pair<const void*, std::string>> drawn;  // newest last
};

ShownLine& shown_line() {
  static auto* line = new ShownLine;  // never destroyed, because static destructors may log
  return *line;
}

void put(const char* before, const std::string& text) {
  std::fprintf(stderr, "%s%s", before, text.c_str());
  std::fflush(stderr);
}

std::string joined(const std::vector<LinePart>& parts) {
  std::string out;
  for (const LinePart& part : parts)
    out += str(out.empty() ? "" : part.after_comma ? ", " : " ", part.text);
  return out;
}

}  // namespace

std::string fitted_line(std::vector<LinePart> parts, std::size_t columns) {
  std::string line = joined(parts);
  while (smelt::columns(line) > columns) {
    // Drops the last of several parts of equal rank.
    const auto least = std::ranges::max_element(parts.rbegin(), parts.rend(), {}, &LinePart::rank);
    if (least == parts.rend() || least->rank == 0) return shortened_to_columns(line, columns);
    parts.erase(std::next(least).base());
    line = joined(parts);
  }
  return line;
}

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

void draw_line(const void* owner, const std::string& text) {
  ShownLine& shown = shown_line();
  const std::lock_guard lock(shown.mutex);
  std::erase_if(shown.drawn, [&](const auto& line) { return line.first == owner; });
  shown.drawn.emplace_back(owner, text);
  put(kClear, text);
}

void end_line(const void* owner) {
  ShownLine& shown = shown_line();
  const std::lock_guard lock(shown.mutex);
  const auto line =
      std::ranges::find(shown.drawn, owner, &std::pair<const void*, std::string>::first);
  if (line == shown.drawn.end()) return;
  put(kClear, line->second + "\n");
  shown.drawn.erase(line);
  if (!shown.drawn.empty()) put("", shown.drawn.back().second);
}

ProgressPause::ProgressPause() {
  ShownLine& shown = shown_line();
  shown.mutex.lock();
  if (!shown.drawn.empty()) put(kClear, "");
}

ProgressPause::~ProgressPause() {
  ShownLine& shown = shown_line();
  if (!shown.drawn.empty()) put(kClear, shown.drawn.back().second);
  shown.mutex.unlock();
}

}  // namespace smelt
