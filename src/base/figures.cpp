#include "base/figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace smelt {

namespace {

// A number in printf's format, which takes the digits and the number.
std::string printed(const char* format, int digits, double value) {
  const int size = std::snprintf(nullptr, 0, format, digits, value);
  std::string out(static_cast<std::size_t>(size), ' ');
  std::snprintf(out.data(), out.size() + 1, format, digits, value);
  return out;
}

}  // namespace

std::string rounded(double value, int digits) { return printed("%.*f", digits, value); }

std::string scientific(double value, int digits) { return printed("%.*e", digits, value); }

std::string significant(double value, int digits) { return printed("%.*g", digits, value); }

std::string hex(std::uint64_t value, int digits) {
  char text[17];
  std::snprintf(text, sizeof text, "%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.resize(std::max(width, out.size()), ' ');
  return out;
}

std::string percent(double share) { return rounded(100 * share, 1) + " %"; }

double to_f32_digits(double value) {
  if (!std::isfinite(value)) return value;
  return std::strtod(significant(value, 7).c_str(), nullptr);
}

}  // namespace smelt
