#include "base/duration.h"

#include <regex>

#include "base/error.h"

namespace smelt {

std::chrono::seconds parse_duration(const std::string& where, const std::string& text) {
  static const std::regex form(
      "(?:([0-9]{1,4})d)?(?:([0-9]{1,5})h)?(?:([0-9]{1,7})m)?(?:([0-9]{1,9})s?)?");
  std::smatch found;
  std::chrono::seconds out{0};
  if (std::regex_match(text, found, form)) {
    const std::chrono::seconds units[] = {std::chrono::hours(24), std::chrono::hours(1),
                                          std::chrono::minutes(1), std::chrono::seconds(1)};
    for (std::size_t i = 0; i < 4; ++i)
      if (found[i + 1].matched) out += std::stoll(found[i + 1]) * units[i];
  }
  if (out <= out.zero() || out > std::chrono::hours(24 * 366))
    throw UsageError(str(where, ": '", text, "' is not a duration of at most a year"),
                     "write it as 90s, 30m, 6h or 2d");
  return out;
}

}  // namespace smelt
