// Conversion between enumeration values and their names on the command line and in files.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"

namespace smelt {

// Returns the value for `word` in a list of {word, value} pairs. Throws UsageError "<what> '<word>'
// is unknown", with a suggestion, if it is not in the list.
template <class List>
auto choose_of(std::string_view what, std::string_view word, const List& choices) {
  std::vector<std::string> known;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    known.emplace_back(name);
  }
  throw UsageError(str(what, " '", word, "' is unknown"), did_you_mean(word, known));
}

template <class Value>
Value choose(std::string_view what, std::string_view word,
             std::initializer_list<std::pair<std::string_view, Value>> choices) {
  return choose_of(what, word, choices);
}

// A list of {name, value} pairs for the values of an enumeration.
template <class Value, std::size_t N>
using NamedValues = std::array<std::pair<std::string_view, Value>, N>;

template <class Value, std::size_t N>
std::string_view word_of(Value value, const NamedValues<Value, N>& words) {
  for (const auto& [word, its_value] : words)
    if (its_value == value) return word;
  CHECK(false, "this enumeration value has no name");
  return {};
}

}  // namespace smelt
