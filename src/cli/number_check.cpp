#include "cli/number_check.h"

#include <charconv>
#include <cmath>
#include <string>

#include "base/str.h"

namespace smelt {

CLI::Validator number_from(double least, double most) {
  const auto problem = [least, most](const std::string& word) -> std::string {
    double number = 0;
    const char* const end = word.data() + word.size();
    const auto [read, error] = std::from_chars(word.data(), end, number);
    if (error != std::errc() || read != end || !std::isfinite(number))
      return str("'", word, "' is no number");
    if (number < least) return str(word, " is less than ", least);
    if (number > most) return str(word, " is more than ", most);
    return "";
  };
  return {problem, std::isinf(most) ? str("from ", least) : str("from ", least, " to ", most)};
}

}  // namespace smelt
