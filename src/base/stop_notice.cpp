#include "base/stop_notice.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "base/child_groups.h"
#include "base/closed_pipe.h"
#include "base/temporary_path.h"

namespace smelt {
namespace {

constexpr std::array kEnding{SIGTERM, SIGINT, SIGHUP};
constexpr std::string_view kResumes =
    "\nstopped: run the same command again to resume; finished work is kept\n";
constexpr std::string_view kBeginsAnew = "\nstopped\n";

// Both functions are async-signal-safe.
[[noreturn]] void say_and_end(std::string_view resumes) {
  end_child_groups();
  const std::string_view notice = remove_temporary_paths() ? kBeginsAnew : resumes;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, notice.data(), notice.size());
  ::_exit(kStoppedExit);
}
void end_job(int) { say_and_end(kResumes); }
void end_command(int) { say_and_end(kBeginsAnew); }

void set_unless_ignored(int signal, void (*handler)(int), void (*&old)(int)) {
  old = std::signal(signal, handler);
  if (old == SIG_IGN) std::signal(signal, SIG_IGN);  // keep ignoring a signal that nohup ignores
}

}  // namespace

void end_at_signals() {
  for (const int signal : kEnding) {
    void (*old)(int) = nullptr;
    set_unless_ignored(signal, end_command, old);
  }
}

StopNotice::StopNotice() {
  outlive_output_reader();
  for (std::size_t i = 0; i < kEnding.size(); ++i) set_unless_ignored(kEnding[i], end_job, old_[i]);
}

void StopNotice::let_finish() {
  for (const int signal : kEnding) std::signal(signal, SIG_IGN);
}

StopNotice::~StopNotice() {
  for (std::size_t i = 0; i < kEnding.size(); ++i) std::signal(kEnding[i], old_[i]);
}

}  // namespace smelt
