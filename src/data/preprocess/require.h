// What a job must keep to. Private to this room.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace smelt {

// UsageError "training data: <what>" unless the condition holds.
inline void require(bool condition, const std::string& what, std::string_view hint) {
  if (!condition) throw UsageError(str("training data: ", what), hint);
}

}  // namespace smelt
