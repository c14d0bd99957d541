#include "base/figures.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iomanip>

#include "base/str.h"

namespace smelt {

std::string rounded(double value, int digits) {
  return str(std::fixed, std::setprecision(digits), value);
}

std::string percent(double share) { return rounded(100 * share, 1) + " %"; }

double to_f32_digits(double value) {
  if (!std::isfinite(value)) return value;
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return std::strtod(text, nullptr);
}

}  // namespace smelt
