// Other programs.
#pragma once

#include <string>
#include <vector>

namespace smelt {

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

}  // namespace smelt
