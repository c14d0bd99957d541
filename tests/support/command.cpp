#include "support/command.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "base/error.h"

namespace smelt {

CommandOutput run_command(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  CHECK(pipe != nullptr);
  CommandOutput output{-1, {}};
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.text.append(buffer.data(), count);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) output.status = WEXITSTATUS(status);
  return output;
}

std::string smelt_program() { return SMELT_PROGRAM; }

CommandOutput run_smelt(const std::string& arguments) {
  return run_command(str(SMELT_PROGRAM, " ", arguments));
}

void expect_refusal(const std::string& arguments, const testing::Matcher<std::string>& message) {
  const CommandOutput output = run_smelt(arguments);
  EXPECT_EQ(output.status, 2) << output.text;
  EXPECT_THAT(output.text, message) << arguments;
}

}  // namespace smelt
