// Other programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// 'a'\''b': one word of the shell.
std::string shell_word(const std::string& text);

// Runs a program, found as the shell finds it, and waits for its end; no shell reads the words.
// What it prints goes to standard error: standard output is smelt's own. Returns its exit status,
// 128 + the number of the signal that ended it, 127 when there is no such program. SystemError when
// none can be started.
int run_program(const std::vector<std::string>& words);

struct ShellOutput {
  int status = 0;  // as run_program's
  std::string text;
};
// A command line that the shell reads, with `input` as its standard input; what it prints is
// returned. It need not read its input to the end.
ShellOutput run_shell(const std::string& command, const std::string& input);

struct ShellEnd {
  int status = 0;      // as run_program's
  std::string errors;  // the last of what it said on standard error, at most 2 KiB
};
// A command line that the shell reads, whose standard input is empty. What it prints is given to
// `take` as it comes, in memory that is bounded, and its standard error passes on to smelt's own.
// Once `take` returns false, or throws, the command is ended by SIGTERM.
ShellEnd stream_shell(const std::string& command,
                      const std::function<bool(std::string_view)>& take);

}  // namespace smelt
