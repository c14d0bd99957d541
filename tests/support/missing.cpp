#include "support/missing.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"

namespace smelt {

bool is_required(std::string_view need) {
  static constexpr std::array<std::string_view, 6> kNeeds{"cpu",    "tpu",     "oracle",
                                                          "python", "browser", "sshd"};
  const char* list = std::getenv("SMELT_REQUIRE");
  if (list == nullptr || *list == '\0') return false;
  const auto names = split(list, ',');
  for (const std::string_view name : names)
    if (std::ranges::find(kNeeds, name) == kNeeds.end())
      throw UsageError(str("SMELT_REQUIRE=", list, ": nothing is called '", name, "'"),
                       "name some of cpu,tpu,oracle,python,browser,sshd");
  return std::ranges::find(names, need) != names.end();
}

}  // namespace smelt
