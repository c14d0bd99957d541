// Returns the message of the error that an action throws.
#pragma once

#include <string>

#include "base/error.h"

namespace smelt {

// Returns "no error" if nothing is thrown. Exceptions of other types propagate.
template <class Kind = Error, class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Kind& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace smelt
