#include "base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <sstream>

#include "base/str.h"

namespace smelt {
namespace {

constexpr int kBarWidth = 24;
constexpr auto kTerminalEvery = std::chrono::milliseconds(200);
constexpr auto kPlainEvery = std::chrono::seconds(30);

std::string bar(double share) {
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * kBarWidth);
  return str("[", std::string(filled, '='), std::string(kBarWidth - filled, ' '), "]");
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
  return str(std::fixed, std::setprecision(unit == 0 ? 0 : 1), bytes, kUnits[unit]);
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
  if (drawn_ && terminal_) std::fputs("\n", stderr);
}

double Progress::seconds() const { return seconds_since(start_); }

bool Progress::is_due(std::int64_t done) const {
  return Clock::now() >= next_draw_ || (terminal_ && done >= total_);
}

void Progress::update(std::int64_t done, std::string_view detail) {
  if (!is_due(done)) return;
  next_draw_ =
      Clock::now() + (terminal_ ? Clock::duration(kTerminalEvery) : Clock::duration(kPlainEvery));
  draw(done, detail);
}

void Progress::draw(std::int64_t done, std::string_view detail) {
  const double elapsed = seconds();
  const double rate = elapsed > 0 ? static_cast<double>(done - first_) / elapsed : 0;
  const double share = total_ > 0 ? static_cast<double>(done) / static_cast<double>(total_) : 0;
  std::ostringstream out;
  out << label_ << " ";
  if (terminal_) out << bar(share) << " ";
  out << (unit_ == kBytes ? bytes_text(static_cast<double>(done)) : str(done)) << "/"
      << amount(static_cast<double>(total_), 0) << std::fixed << std::setprecision(1) << " ("
      << 100 * share << " %)";
  if (rate > 0)
    out << ", " << amount(rate, 1) << "/s, "
        << duration_text(static_cast<double>(total_ - done) / rate) << " left";
  if (!detail.empty()) out << ", " << detail;
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", out.str().c_str());
  std::fflush(stderr);
  drawn_ = true;
}

std::string Progress::amount(double value, int digits) const {
  if (unit_ == kBytes) return bytes_text(value);
  return str(std::fixed, std::setprecision(digits), value, " ", unit_);
}

void Progress::line(std::string_view text) {
  std::fprintf(stderr, terminal_ ? "\r\033[K%.*s\n" : "%.*s\n", static_cast<int>(text.size()),
               text.data());
}

}  // namespace smelt
