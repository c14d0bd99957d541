// Text helpers: str(a, b, c) prints its arguments one after another; split, trim, join and others.
#pragma once

#include <concepts>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

template <class... Args>
std::string str(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

// "a,b,,c" by ',' -> {"a", "b", "", "c"}; the empty text gives one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

// Without ASCII white space at both ends.
std::string_view trim(std::string_view text);

std::string first_line(std::string_view text);  // without its end

// Of ASCII letters.
std::string lower_case(std::string_view text);

template <class Range>
std::string join(const Range& items, std::string_view separator) {
  std::ostringstream out;
  std::string_view between;
  for (const auto& item : items) {
    out << between << item;
    between = separator;
  }
  return out.str();
}

}  // namespace smelt
