// Parsing of whole numbers that users write.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smelt {

// Returns the number without leading zeros, for parsers that would read it as octal: "010" -> "10",
// "-007" -> "-7". Leaves "0", "0x1f" and "0.5" unchanged.
inline std::string without_leading_zeros(std::string_view text) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  const std::size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  std::size_t first = sign;
  while (is_digit(first + 1) && text[first] == '0') ++first;
  return std::string(text.substr(0, sign)) + std::string(text.substr(first));
}

// Parses a whole number in any of the forms "1000000", "1_000_000", "1e6" and "2.5e3". Returns
// nullopt for other text, for "1.5", and for numbers of 2^53 or more in the exponent form.
inline std::optional<std::int64_t> parse_whole_number(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && text[i - 1] >= '0' && text[i - 1] <= '9' &&
                         text[i + 1] >= '0' && text[i + 1] <= '9';
    if (text[i] != '_' || !between) digits += text[i];
  }
  const bool has_plus = digits.starts_with('+') && !digits.starts_with("+-");
  const char *begin = digits.data() + (has_plus ? 1 : 0), *end = digits.data() + digits.size();
  std::int64_t whole = 0;
  if (const auto [at, fault] = std::from_chars(begin, end, whole);
      fault == std::errc() && at == end && begin != end)
    return whole;
  double number = 0;
  constexpr double kExact = 9007199254740992.0;
  const auto [at, fault] = std::from_chars(begin, end, number);
  const bool has_exponent = digits.find_first_of("eE") != std::string::npos;
  if (fault != std::errc() || at != end || !has_exponent || number != std::floor(number) ||
      std::abs(number) >= kExact)
    return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace smelt
