// Checks of job options. Private to this module.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace smelt::data {

// Throws UsageError "training data: <what>" unless the condition holds.
inline void require(bool condition, const std::string& what, std::string_view hint) {
  if (!condition) throw UsageError(str("training data: ", what), hint);
}

}  // namespace smelt::data
