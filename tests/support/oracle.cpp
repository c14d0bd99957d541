#include "support/oracle.h"

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

}  // namespace smelt
