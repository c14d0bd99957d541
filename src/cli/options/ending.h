// The exit code and message of a command that ends by an exception.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace smelt::cli {

struct Ending {
  int code;  // an exit code of base/exit_codes.h
  std::string text;
};

Ending ending_of(const std::exception_ptr& error);

// Returns the name of an exit code: 2 -> "usage". "signal" for a code that the table does not have.
std::string_view exit_name(int code);

}  // namespace smelt::cli
