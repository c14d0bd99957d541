// Commands as a user types them, smelt itself among them.
#pragma once

#include <gmock/gmock.h>

#include <string>

namespace smelt {

struct CommandOutput {
  int status;        // exit status, -1 when it ended by a signal
  std::string text;  // standard output and error together
};

// By the shell.
CommandOutput run_command(const std::string& command);

// The program under test.
std::string smelt_program();
CommandOutput run_smelt(const std::string& arguments);
// That it ends with exit status 2 and this message.
void expect_refusal(const std::string& arguments, const ::testing::Matcher<std::string>& message);

}  // namespace smelt
