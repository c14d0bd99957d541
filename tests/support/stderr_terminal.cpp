#include "support/stderr_terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.h"

namespace smelt {

StderrTerminal::StderrTerminal(unsigned short columns) {
  int program = -1;
  CHECK(::openpty(&terminal_, &program, nullptr, nullptr, nullptr) == 0);
  CHECK(::fcntl(terminal_, F_SETFL, O_NONBLOCK) == 0);
  std::fflush(stderr);
  before_ = ::dup(STDERR_FILENO);
  CHECK(::dup2(program, STDERR_FILENO) == STDERR_FILENO);
  ::close(program);
  resize(columns);
}

void StderrTerminal::resize(unsigned short columns) const {
  winsize size{};
  size.ws_col = columns;
  CHECK(::ioctl(terminal_, TIOCSWINSZ, &size) == 0);
}

StderrTerminal::~StderrTerminal() {
  std::fflush(stderr);
  ::dup2(before_, STDERR_FILENO);
  ::close(before_);
  ::close(terminal_);
}

std::string StderrTerminal::text() const {
  std::string text;
  char buffer[1024];
  for (::ssize_t count; (count = ::read(terminal_, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
}

}  // namespace smelt
