#include "base/figures.h"

#include <iomanip>

#include "base/str.h"

namespace smelt {

std::string rounded(double value, int digits) {
  return str(std::fixed, std::setprecision(digits), value);
}

std::string percent(double share) { return rounded(100 * share, 1) + " %"; }

}  // namespace smelt
