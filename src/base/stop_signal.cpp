#include "base/stop_signal.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

namespace smelt {
namespace {

constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP};
std::atomic<const char*> told = "";
std::atomic<int> raised_signal = 0;  // two may come at once, on two threads

// The second one ends the process as if nobody listened: a save that is cut off does not count.
void note_or_end(int signal) {
  if (raised_signal.exchange(signal) != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  const std::string_view notice = told.load();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, notice.data(), notice.size());
}

}  // namespace

StopSignal::StopSignal(const char* notice) {
  raised_signal = 0;
  told = notice;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    old_[i] = std::signal(kSignals[i], note_or_end);
    if (old_[i] == SIG_IGN) std::signal(kSignals[i], SIG_IGN);  // as a shell's & wants it
  }
}

StopSignal::~StopSignal() {
  raised_signal = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) std::signal(kSignals[i], old_[i]);
}

bool StopSignal::raised() { return raised_signal != 0; }

StopSignal::Notice::Notice(const char* notice) : before_(told.exchange(notice)) {}

StopSignal::Notice::~Notice() { told = before_; }

}  // namespace smelt
