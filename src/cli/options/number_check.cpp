#include "cli/options/number_check.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <string>

#include "base/str.h"

namespace smelt::cli {

std::optional<double> number_in(const std::string& word) {
  double number = 0;
  const char* const end = word.data() + word.size();
  const auto [read, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || read != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

namespace {

// Returns an error text for a number, or "".
using Problem = std::function<std::string(double)>;

CLI::Validator validator(const std::string& name, const Problem& problem) {
  const auto check = [problem](const std::string& word) -> std::string {
    const auto number = number_in(word);
    if (!number) return str("'", word, "' is not a number");
    const std::string wrong = problem(*number);
    return wrong.empty() ? "" : str(word, " ", wrong);
  };
  return {check, name};
}

}  // namespace

CLI::Validator number_from(double least, double most) {
  return validator(std::isinf(most) ? str("from ", least) : str("from ", least, " to ", most),
                   [=](double number) -> std::string {
                     if (number < least) return str("is less than ", least);
                     if (number > most) return str("is more than ", most);
                     return "";
                   });
}

CLI::Validator number_below(double limit, std::optional<double> least) {
  return validator(
      least ? str("from ", *least, " to below ", limit) : str("0 to ", limit, ", without"),
      [=](double number) -> std::string {
        if (least && number < *least) return str("is less than ", *least);
        if (!least && number <= 0) return "is not above 0";
        if (number >= limit) return str("is not below ", limit);
        return "";
      });
}

CLI::Validator dollars_above_zero() {
  return {[](const std::string& word) -> std::string {
            const auto dollars = number_in(word);
            if (dollars && *dollars > 0 && *dollars <= 1e6) return "";
            return str("'", word,
                       "' is not a number of dollars from 0.01 to 1000000; write it as 50 ",
                       "or 49.99");
          },
          "dollars"};
}

}  // namespace smelt::cli
