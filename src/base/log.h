// The program's log: messages to standard error, above a progress bar if one is drawn there.
// spdlog does the work, but only inside log.cpp: a file that includes its headers takes seconds
// longer to compile.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <streambuf>
#include <string>
#include <string_view>
#include <variant>

namespace smelt {

enum class LogLevel : std::uint8_t { debug, info, warning, error, off };

namespace internal {

// An argument of a log message. Text is referenced, not copied.
using LogArgument =
    std::variant<bool, std::int64_t, std::uint64_t, float, double, std::string_view>;

template <class T>
LogArgument log_argument(const T& value) {
  static_assert(!std::same_as<T, char>, "pass a string, not a char");
  if constexpr (std::same_as<T, bool> || std::floating_point<T>)
    return value;
  else if constexpr (std::signed_integral<T>)
    return static_cast<std::int64_t>(value);
  else if constexpr (std::unsigned_integral<T>)
    return static_cast<std::uint64_t>(value);
  else
    return std::string_view(value);
}

// A format string with kArguments placeholders, counted at compile time.
template <std::size_t kArguments>
struct LogFormat {
  consteval LogFormat(const char* format) : text(format) {
    std::size_t found = 0;
    for (const char c : text) found += c == '{' ? 1 : 0;
    if (kArguments > 0 && found != kArguments)
      throw "the number of arguments differs from the number of {} placeholders";
  }
  std::string_view text;
};

void log(LogLevel level, std::string_view format, std::initializer_list<LogArgument> arguments);

}  // namespace internal

// Log a message. `format` uses fmt's syntax, e.g. log_info("{} of {:.1f} s", name, seconds), and
// the arguments are numbers or text. Without arguments, the text is logged unchanged,
// braces included.
template <class... Args>
void log_debug(internal::LogFormat<sizeof...(Args)> format, const Args&... args) {
  internal::log(LogLevel::debug, format.text, {internal::log_argument(args)...});
}
template <class... Args>
void log_info(internal::LogFormat<sizeof...(Args)> format, const Args&... args) {
  internal::log(LogLevel::info, format.text, {internal::log_argument(args)...});
}
template <class... Args>
void log_warning(internal::LogFormat<sizeof...(Args)> format, const Args&... args) {
  internal::log(LogLevel::warning, format.text, {internal::log_argument(args)...});
}
template <class... Args>
void log_error(internal::LogFormat<sizeof...(Args)> format, const Args&... args) {
  internal::log(LogLevel::error, format.text, {internal::log_argument(args)...});
}

struct LogOptions {
  LogLevel level = LogLevel::info;  // messages below it are dropped
  bool quiet = false;               // standard error gets warnings and errors only
  std::string file = {};            // log file for all messages, with date and time zone; "": none
};

// Replaces the program's logger by one with these options. Warnings and errors are yellow and red
// on a terminal that has colours, and begin with "warning:" and "error:" elsewhere. Messages are
// appended to the log file, if there is one. Throws UsageError if the file cannot be opened.
void set_up_log(const LogOptions& options = {});

// Appends a message to the log file, if there is one: "2026-11-27T17:40:03+0100 info: text".
void log_to_file(LogLevel level, std::string_view text);

LogLevel log_level();                // lowest level that standard error shows
void set_log_level(LogLevel least);  // messages below it are dropped
void flush_log();

// Returns whether an ErrorsOnly object exists, that is, another process logs on behalf of this one.
bool is_one_of_many();

// While an object of this class exists, only errors are logged, each prefixed with `who`, and
// output to std::cout is dropped. Used by all but one of several processes that do the same work.
class ErrorsOnly {
 public:
  explicit ErrorsOnly(const std::string& who);
  ~ErrorsOnly();
  ErrorsOnly(const ErrorsOnly&) = delete;
  ErrorsOnly& operator=(const ErrorsOnly&) = delete;

 private:
  LogLevel level_;  // previous level of the logger
  std::streambuf* out_;
};

}  // namespace smelt
