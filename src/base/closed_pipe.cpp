#include "base/closed_pipe.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace smelt {
namespace {

std::atomic<bool> outlives = false;

}  // namespace

void outlive_output_reader() {
  // An empty handler is used instead of SIG_IGN, because programs that this process starts would
  // inherit SIG_IGN.
  const auto old = std::signal(SIGPIPE, [](int) {});
  if (old == SIG_IGN) std::signal(SIGPIPE, SIG_IGN);
  outlives = true;
}

bool has_outlived_output_reader() {
  ::pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return outlives && ::poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace smelt
