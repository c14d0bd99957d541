// A long-lived child process that reads lines and writes one line for each.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/child_groups.h"

namespace smelt {

// Runs a shell command and passes lines through it. The command must write each output line as soon
// as it has read the input line, without waiting for the end of its input. Not thread-safe.
class LineFilter {
 public:
  using Seconds = std::chrono::duration<double>;
  static constexpr Seconds kSilence{120};

  // Starts the command. `silence` is the timeout: the maximum time without new output while output
  // lines are missing. Throws SystemError if the shell cannot be started.
  explicit LineFilter(std::string command, Seconds silence = kSilence);
  // Kills the command and the programs that it started.
  ~LineFilter();
  LineFilter(const LineFilter&) = delete;
  LineFilter& operator=(const LineFilter&) = delete;

  // Returns the command's output for these lines, one line each; the lines must not contain line
  // feeds. Writes and reads concurrently, so that full pipes do not block. Throws UsageError if the
  // command ends, times out or writes too many lines, and SystemError if it was killed or times out
  // after it has written lines. After an exception the filter cannot be used.
  std::vector<std::string> filter(std::span<const std::string> lines);
  // Does the same as filter() for the last lines of the input, and closes the command's input after
  // them. The command then ends, so that missing output lines are detected at once instead of after
  // the timeout.
  std::vector<std::string> filter_last(std::span<const std::string> lines);

 private:
  enum End : std::size_t { kIn, kOut, kErrors };

  void exchange(const std::string& input, std::size_t count);
  void write_some(const std::string& input, std::size_t& sent);
  // Returns false at the end of the pipe.
  bool read_some(End end, std::string& to);
  void close_end(End end);
  // Reads the rest of the command's standard error. Returns its last part for an error message.
  std::string last_errors();
  // Waits for the command to end, for at most `limit`. Returns whether it has ended.
  bool ends_within(Seconds limit) const;
  // Ends the command and the programs that it started. Returns how the command ended.
  int stop();
  [[noreturn]] void throw_more(std::string_view output);
  [[noreturn]] void throw_silent(std::size_t due, std::size_t count);
  [[noreturn]] void throw_ended();

  std::string command_;
  Seconds silence_;
  std::array<int, 3> ends_{-1, -1, -1};
  ::pid_t child_ = -1;
  std::unique_ptr<ChildGroup> group_;
  std::string output_;         // output that was read but not returned yet
  std::size_t line_ends_ = 0;  // number of line ends in output_
  std::size_t passed_ = 0;     // lines returned so far
  bool is_last_ = false;       // the current lines are the last of the input
  std::string errors_;         // the last part of the command's standard error
};

}  // namespace smelt
