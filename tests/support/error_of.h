// The message of the error that an action ends with.
#pragma once

#include <string>

#include "base/error.h"

namespace smelt {

// "no error" when it ends well. Exceptions of other kinds go through.
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
