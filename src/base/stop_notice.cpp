#include "base/stop_notice.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "base/closed_pipe.h"

namespace smelt {
namespace {

constexpr std::array kEnding{SIGTERM, SIGINT, SIGHUP};
constexpr std::string_view kNotice =
    "\nstopped: the same command goes on, what is finished is kept\n";

// Only what a signal's handler may do.
void say_and_end(int) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kNotice.data(), kNotice.size());
  ::_exit(kStoppedExit);
}

}  // namespace

StopNotice::StopNotice() {
  outlive_output_reader();
  for (std::size_t i = 0; i < kEnding.size(); ++i) {
    old_[i] = std::signal(kEnding[i], say_and_end);
    if (old_[i] == SIG_IGN) std::signal(kEnding[i], SIG_IGN);  // as nohup wants it
  }
}

void StopNotice::let_finish() {
  for (const int signal : kEnding) std::signal(signal, SIG_IGN);
}

StopNotice::~StopNotice() {
  for (std::size_t i = 0; i < kEnding.size(); ++i) std::signal(kEnding[i], old_[i]);
}

}  // namespace smelt
