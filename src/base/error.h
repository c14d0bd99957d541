// Exception types and their exit codes. A thrown Error ends the command. A function whose result
// may be missing without an error returns a std::optional. Messages have the form "<where>: <what
// is wrong, found and expected>", then a line "hint: <one action>".
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

// The message and hint of an Error.
struct ErrorParts {
  std::string what, hint;  // hint is "" if absent
};
ErrorParts error_parts(std::string_view text);

// An error that the user can correct: flag, config, shape or file content. Exit code 2.
class UsageError : public Error {
  using Error::Error;
};

// A failure of the environment: disk, network, PJRT or the TPU API. Exit code 1.
class SystemError : public Error {
  using Error::Error;
};

// Thrown after a stop signal. Completed work is saved, and the same command resumes. Exit code 75.
class Stopped : public Error {
  using Error::Error;
};

// A metric is below the threshold given by the user. Exit code 3.
class BelowThreshold : public Error {
  using Error::Error;
};

// A failed CHECK, which is a bug in smelt. Exit code 70.
class BugError : public Error {
  using Error::Error;
};

// Throws SystemError with the description of an errno, e.g. throw_errno("open", path, errno):
// "open: <path>: No such file…". Errors that the user can correct, such as ENOENT, EACCES and
// EISDIR, become UsageErrors. A full disk gets its own hint.
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
