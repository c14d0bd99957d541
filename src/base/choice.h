// A value that a user names by a word.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"

namespace smelt {

// The value of the word. UsageError "<what> '<word>' is unknown" for one that is not among them.
template <class Value>
Value choose(std::string_view what, std::string_view word,
             std::initializer_list<std::pair<std::string_view, Value>> choices) {
  std::vector<std::string> known;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    known.emplace_back(name);
  }
  throw UsageError(str(what, " '", word, "' is unknown"), did_you_mean(word, known));
}

}  // namespace smelt
