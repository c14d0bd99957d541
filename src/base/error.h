// The kinds of failure, and of an end before the end. A thrown error ends the command; an expected
// absence is a std::optional. Form of a message: "<where>: <what is wrong, with both values>", then
// "  hint: <one action>".
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/str.h"

namespace smelt {

inline constexpr std::string_view kHintMark = "\n  hint: ";

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, std::string_view hint = {})
      : std::runtime_error(hint.empty() ? what : str(what, kHintMark, hint)) {}
};

// What was given to an Error, of its text.
struct ErrorParts {
  std::string what, hint;  // "" = it had none
};
ErrorParts error_parts(std::string_view text);

// The user can mend it: flag, config, shape, file content. Exit 2.
class UsageError : public Error {
  using Error::Error;
};

// The world failed: disk, network, PJRT, TPU API. Exit 1.
class SystemError : public Error {
  using Error::Error;
};

// Asked to, by a signal: what was done is kept, the same command goes on. Exit 75.
class Stopped : public Error {
  using Error::Error;
};

// A metric is below a threshold that the user gave. Exit 3.
class BelowThreshold : public Error {
  using Error::Error;
};

// A CHECK failed: ours to mend. Exit 70.
class BugError : public Error {
  using Error::Error;
};

// SystemError with the text of errno, e.g. system_error("open", path): "open: <path>: No such
// file…". ENOENT, EACCES and EISDIR are the user's to mend and become UsageErrors; disk full gets
// its own hint.
[[noreturn]] void throw_errno(std::string_view action, std::string_view path, int error_number);

namespace internal {
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& detail);
}

}  // namespace smelt

// A failing CHECK is a bug in smelt; it is never reachable from user input.
#define CHECK(condition, ...)                                            \
  (static_cast<bool>(condition)                                          \
       ? void()                                                          \
       : ::smelt::internal::check_failed(__FILE__, __LINE__, #condition, \
                                         ::smelt::str("" __VA_OPT__(, ) __VA_ARGS__)))
