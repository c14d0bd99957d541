// Figures as commands print them.
#pragma once

#include <string>

namespace smelt {

template <class Part, class Whole>
double share(Part part, Whole whole) {  // 0 of nothing
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string rounded(double value, int digits);
std::string percent(double share);  // "12.3 %"
// With as many digits as an f32 has: shorter lines.
double to_f32_digits(double value);

}  // namespace smelt
