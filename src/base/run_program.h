// Running other programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// Quotes text as one word for the shell: 'a'\''b'.
std::string shell_word(const std::string& text);

// Runs a program, found in PATH, without a shell, and waits for its end. Its standard output goes
// to standard error, because standard output is for smelt's own results. Returns its exit status,
// 128 + signal number if a signal ended it, or 127 if the program does not exist. Throws
// SystemError if no process can be started.
int run_program(const std::vector<std::string>& words);

struct ShellOutput {
  int status = 0;  // exit status as of run_program()
  std::string text;
};
// Runs a shell command with `input` as its standard input and returns its standard output. The
// command need not read all of the input.
ShellOutput run_shell(const std::string& command, const std::string& input);

struct ShellEnd {
  int status = 0;      // exit status as of run_program()
  std::string errors;  // the last part of its standard error, at most 2 KiB
};
// Runs a shell command with empty standard input. Passes its output to `take` in chunks as it
// arrives; its standard error is also copied to smelt's. If `take` returns false or throws, the
// command is ended with SIGTERM.
ShellEnd stream_shell(const std::string& command,
                      const std::function<bool(std::string_view)>& take);

}  // namespace smelt
