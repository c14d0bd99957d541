#include "model/optim/nm_pattern.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"

namespace smelt::model {

NmPattern parse_nm(const std::string& text, const std::string& what) {
  const auto number = [](std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() ? value : 0;
  };
  const std::string_view all = text;
  const std::size_t colon = std::min(all.find(':'), all.size());
  const NmPattern out{.kept = number(all.substr(0, colon)),
                      .of = colon < all.size() ? number(all.substr(colon + 1)) : 0};
  if (out.kept < 1 || out.of < 1)
    throw UsageError(str(what, " '", text, "' is not a pattern n:m of two positive numbers"),
                     "write kept:group, for example 2:4");
  if (out.kept >= out.of)
    throw UsageError(
        str(what, " ", text, ": must keep fewer than ", out.of, " of ", out.of, " weights"),
        "use a pattern such as 2:4");
  return out;
}

std::string nm_text(const NmPattern& nm) { return str(nm.kept, ":", nm.of); }

}  // namespace smelt::model
