// Runs commands, such as smelt itself, as a user would type them.
#pragma once

#include <gmock/gmock.h>

#include <string>

namespace smelt {

struct CommandOutput {
  int status;        // exit status, or -1 if a signal ended it
  std::string text;  // standard output and error together
};

// Runs a command with the shell.
CommandOutput run_command(const std::string& command);

// Runs the smelt program under test.
std::string smelt_program();
CommandOutput run_smelt(const std::string& arguments);
// Expects that smelt ends with exit status 2 and a matching message.
void expect_refusal(const std::string& arguments, const ::testing::Matcher<std::string>& message);

}  // namespace smelt
