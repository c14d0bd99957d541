#include "base/number_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/columns.h"

namespace smelt {

namespace {

// Returns printf's text for the format with the arguments `digits` and `value`.
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
  const std::size_t taken = columns(text);
  if (taken < width) out.append(width - taken, ' ');
  return out;
}

std::string percent(double share) { return rounded(100 * share, 1) + " %"; }

double to_f32_digits(double value) {
  if (!std::isfinite(value)) return value;
  return std::strtod(significant(value, 7).c_str(), nullptr);
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths.at(i) = std::max(widths.at(i), columns(row[i]));
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += padded(row[i], widths[i] + 2);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace smelt
