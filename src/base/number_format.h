// Formatting of numbers and tables for output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

template <class Part, class Whole>
double share(Part part, Whole whole) {  // 0 if whole is 0
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string rounded(double value, int digits);                 // "%.*f"
std::string scientific(double value, int digits);              // "%.*e"
std::string significant(double value, int digits);             // "%.*g"
std::string hex(std::uint64_t value, int digits = 1);          // lower case, with leading zeros
std::string padded(std::string_view text, std::size_t width);  // with trailing spaces
std::string percent(double share);                             // "12.3 %"
// Returns a text table whose columns are as wide as their widest cell. All rows must have the same
// number of cells.
std::string table_text(const std::vector<std::vector<std::string>>& rows);
// Rounds the value to the decimal digits of a float, so that it prints shorter.
double to_f32_digits(double value);

}  // namespace smelt
