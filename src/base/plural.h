// Text helpers for messages: counts with nouns, and truncation.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/str.h"

namespace smelt {

// Returns a number with its noun: (1, "step") -> "1 step", (3, "step") -> "3 steps".
template <class Number>
std::string counted(Number number, std::string_view one, std::string_view many) {
  return str(number, " ", number == Number{1} ? one : many);
}
template <class Number>
std::string counted(Number number, std::string_view one) {
  return counted(number, one, str(one, "s"));
}

// Returns the text in brackets after a space: "abc" -> " (abc)", "" -> "".
inline std::string in_brackets(std::string_view text) {
  return text.empty() ? std::string() : str(" (", text, ")");
}

// Returns the number of characters in UTF-8 text.
std::size_t characters(std::string_view text);

// Returns the text, or its first `most` - 1 characters and "…" if it is longer.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace smelt
