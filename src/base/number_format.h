// Figures as commands print them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

template <class Part, class Whole>
double share(Part part, Whole whole) {  // 0 of nothing
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string rounded(double value, int digits);                 // "%.*f"
std::string scientific(double value, int digits);              // "%.*e"
std::string significant(double value, int digits);             // "%.*g"
std::string hex(std::uint64_t value, int digits = 1);          // lower case, with leading zeros
std::string padded(std::string_view text, std::size_t width);  // with trailing spaces
std::string percent(double share);                             // "12.3 %"
// Lines of columns that are as wide as their widest cell; every row has as many cells.
std::string table_text(const std::vector<std::vector<std::string>>& rows);
// With as many digits as an f32 has: shorter lines.
double to_f32_digits(double value);

}  // namespace smelt
