// The exceptions that end a command. An expected absence is a std::optional, not an error. A
// message has the form "<where>: <what is wrong, found and expected>", then "  hint: <one action>".
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

// The two parts of an Error's text.
struct ErrorParts {
  std::string what, hint;  // empty without a hint
};
ErrorParts error_parts(std::string_view text);

// Wrong input that the user can correct: a flag, a field, a shape, a file's content. Exit code 2.
class UsageError : public Error {
  using Error::Error;
};

// A failure of the environment: disk, network, PJRT, TPU API. Exit code 1.
class SystemError : public Error {
  using Error::Error;
};

// A signal stopped the command. Its work so far is kept, and the same command resumes. Exit
// code 75.
class Stopped : public Error {
  using Error::Error;
};

// A metric is below a threshold that the user gave. Exit code 3.
class BelowThreshold : public Error {
  using Error::Error;
};

// A failed CHECK: a bug in smelt. Exit code 70.
class BugError : public Error {
  using Error::Error;
};

// Throws an error with the text of errno, such as "open: <path>: No such file or directory".
// ENOENT, EACCES and EISDIR become UsageErrors, all others SystemErrors. A full disk has its own
// hint.
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
