#include "base/stop_signal.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "base/child_groups.h"
#include "base/temporary_path.h"

namespace smelt {
namespace {

constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP};
// Two signals within this many nanoseconds count as one: `timeout` and a shutdown send them in
// pairs.
constexpr std::int64_t kPairTime = 1'000'000'000;
std::atomic<const char*> current_notice = "";
// Atomic, because two threads may receive signals at once.
std::atomic<int> raised_number = 0;
std::atomic<std::int64_t> asked_at = 0;  // time of the first SIGTERM or SIGINT; 0 if none arrived

// Returns nanoseconds of a steady clock. A signal handler may call it.
std::int64_t now() {
  std::timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Returns whether this is a second request to end the process. SIGHUP never counts: it arrives
// again when the shell of a closed terminal ends, and right after SIGTERM at a shutdown.
bool asks_again(int signal) {
  if (signal == SIGHUP) return false;
  const std::int64_t at = now();
  std::int64_t first = 0;
  return !asked_at.compare_exchange_strong(first, at) && at - first >= kPairTime;
}

// At a second request the signal's default action ends the process without saving.
void note_or_end(int signal) {
  if (asks_again(signal)) {
    end_child_groups();
    remove_temporary_paths();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  int none = 0;
  if (!raised_number.compare_exchange_strong(none, signal)) return;
  const std::string_view notice = current_notice.load();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, notice.data(), notice.size());
}

void forget_signals() {
  raised_number = 0;
  asked_at = 0;
}

}  // namespace

StopSignal::StopSignal(const char* notice) {
  forget_signals();
  current_notice = notice;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    old_[i] = std::signal(kSignals[i], note_or_end);
    if (old_[i] == SIG_IGN)
      std::signal(kSignals[i],
                  SIG_IGN);  // keep ignoring a signal that a shell ignores for a background job
  }
}

StopSignal::~StopSignal() {
  forget_signals();
  for (std::size_t i = 0; i < kSignals.size(); ++i) std::signal(kSignals[i], old_[i]);
}

bool StopSignal::raised() { return raised_number != 0; }

int StopSignal::number() { return raised_number; }

StopSignal::Notice::Notice(const char* notice) : before_(current_notice.exchange(notice)) {}

StopSignal::Notice::~Notice() { current_notice = before_; }

}  // namespace smelt
