// Running other programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// Quotes the text as one word of the shell: 'a'\''b'.
std::string shell_word(const std::string& text);

// Runs a program, which is searched for in PATH, and waits for its end. No shell is involved. Its
// output goes to standard error. Returns its exit status, 128 plus the number of the signal that
// ended it, or 127 if it was not found. Throws SystemError if no process can be started.
int run_program(const std::vector<std::string>& words);

struct ShellOutput {
  int status = 0;  // as run_program() returns it
  std::string text;
};
// Runs a command line in the shell with `input` as its standard input and returns its output. The
// command need not read all of its input.
ShellOutput run_shell(const std::string& command, const std::string& input);

struct ShellEnd {
  int status = 0;      // as run_program() returns it
  std::string errors;  // the end of its standard error, at most 2 KiB
};
// Runs a command line in the shell with empty standard input. Passes its output to `take` in
// pieces, and its standard error to smelt's. If `take` returns false or throws, the command gets
// SIGTERM.
ShellEnd stream_shell(const std::string& command,
                      const std::function<bool(std::string_view)>& take);

}  // namespace smelt
