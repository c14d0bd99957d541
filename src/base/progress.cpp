#include "base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <sstream>

#include "base/log.h"
#include "base/number_format.h"
#include "base/progress_line.h"
#include "base/str.h"

namespace smelt {
namespace {

constexpr auto kTerminalEvery = std::chrono::milliseconds(200);
constexpr auto kPlainEvery = std::chrono::seconds(30);

// Only one of several processes that do the same work shows progress (base/log.h).
bool is_told() { return log_level() <= LogLevel::info; }

std::string bar(double share, std::size_t columns) {
  const auto width = static_cast<double>(std::clamp<std::size_t>(columns / 8, 8, 24));
  const double filled = std::floor(std::clamp(share, 0.0, 1.0) * width);
  return str("[", std::string(static_cast<std::size_t>(filled), '='),
             std::string(static_cast<std::size_t>(width - filled), ' '), "]");
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(seconds, 0.0)));
  std::ostringstream out;
  out << std::setfill('0');
  if (whole >= 3600)
    out << whole / 3600 << ":" << std::setw(2) << whole / 60 % 60;
  else
    out << whole / 60;
  out << ":" << std::setw(2) << whole % 60;
  return out.str();
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits{" B", " kB", " MB", " GB", " TB", " PB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return rounded(bytes, unit == 0 ? 0 : 1) + kUnits[unit];
}

Progress::Progress(std::string_view label, std::int64_t total, std::string_view unit,
                   std::int64_t done)
    : label_(label),
      unit_(unit),
      total_(total),
      first_(done),
      terminal_(::isatty(STDERR_FILENO) == 1) {
  next_draw_ = terminal_ ? start_ : start_ + kPlainEvery;
}

Progress::~Progress() {
  if (terminal_) end_line(this);
}

double Progress::seconds() const { return seconds_since(start_); }

bool Progress::is_due(std::int64_t done) const {
  return is_told() && (Clock::now() >= next_draw_ || (terminal_ && done >= total_ && !drew_end_));
}

void Progress::update(std::int64_t done, std::string_view detail) {
  if (!is_due(done)) return;
  next_draw_ =
      Clock::now() + (terminal_ ? Clock::duration(kTerminalEvery) : Clock::duration(kPlainEvery));
  drew_end_ = done >= total_;
  draw(done, detail);
}

// On a narrow terminal the metrics in `detail` are dropped first, except the first one, which is
// the loss of a training run.
void Progress::draw(std::int64_t done, std::string_view detail) const {
  const double elapsed = seconds();
  const double rate = elapsed > 0 ? static_cast<double>(done - first_) / elapsed : 0;
  const double share = total_ > 0 ? static_cast<double>(done) / static_cast<double>(total_) : 0;
  const std::size_t columns = terminal_ ? terminal_columns() : std::string::npos;
  std::vector<LinePart> parts{{.text = label_}};
  if (terminal_) parts.push_back({.text = bar(share, columns), .rank = 3});
  parts.push_back(
      {.text = str(unit_ == kBytes ? bytes_text(static_cast<double>(done)) : str(done),
                   total_ > 0 ? str("/", amount(static_cast<double>(total_), 0)) : str(" ", unit_)),
       .rank = 2});
  if (total_ > 0) parts.push_back({.text = str("(", percent(share), ")")});
  if (rate > 0) {
    parts.push_back({.text = amount(rate, 1) + "/s", .rank = 4, .after_comma = true});
    if (total_ > 0)
      parts.push_back({.text = duration_text(static_cast<double>(total_ - done) / rate) + " left",
                       .rank = 1,
                       .after_comma = true});
  }
  int rank = 2;
  for (std::string_view rest = detail; !rest.empty(); rank = 5) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    parts.push_back({.text = std::string(rest.substr(0, end)), .rank = rank, .after_comma = true});
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  const std::string text = fitted_line(std::move(parts), columns - 1);
  if (terminal_)
    draw_line(this, text);
  else
    std::fprintf(stderr, "%s\n", text.c_str());
}

std::string Progress::amount(double value, int digits) const {
  if (unit_ == kBytes) return bytes_text(value);
  return str(rounded(value, digits), " ", unit_);
}

void Progress::line(std::string_view text) {
  log_to_file(LogLevel::info, text);
  if (!is_told()) return;
  const ProgressPause aside;
  std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace smelt
