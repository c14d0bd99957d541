// Whole numbers that begin with zeros.
#pragma once

#include <string>
#include <string_view>

namespace smelt {

// Returns the text without the zeros before its first other digit, for readers that would take the
// number for an octal one: "010" -> "10", "-007" -> "-7". "0", "0x1f" and "0.5" stay as they are.
inline std::string without_leading_zeros(std::string_view text) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  const std::size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  std::size_t first = sign;
  while (is_digit(first + 1) && text[first] == '0') ++first;
  return std::string(text.substr(0, sign)) + std::string(text.substr(first));
}

}  // namespace smelt
