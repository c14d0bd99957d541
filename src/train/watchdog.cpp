#include "train/watchdog.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "base/parallel.h"
#include "base/str.h"

namespace smelt {
namespace {

constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
std::atomic<std::int64_t> step_under_way = -1;

void write_out(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Only what a signal's handler may do.
void tell_crash(int signal) {
  std::array<char, 24> digits;
  const std::int64_t step = step_under_way;
  const char* end = std::to_chars(digits.begin(), digits.end(), step).ptr;
  write_out("\nerror: train: smelt or the device's plugin crashed ");
  write_out(step < 0 ? "between two steps" : "during step ");
  if (step >= 0) write_out({digits.data(), end});
  write_out("\n  hint: checkpoints are good: go on from them, and report it if it stays\n");
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

Watchdog::Watchdog(std::chrono::duration<double> limit, std::string field)
    : limit_(limit), field_(std::move(field)) {
  step_under_way = -1;
  for (const int signal : kCrashes) std::signal(signal, tell_crash);
  if (limit_.count() <= 0) return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error& error) {
    throw_no_thread(error);
  }
}

Watchdog::~Watchdog() {
  for (const int signal : kCrashes) std::signal(signal, SIG_DFL);
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::at(std::int64_t step) {
  step_under_way = step;
  const std::lock_guard lock(mutex_);
  begun_ = std::chrono::steady_clock::now();
  is_at_work_ = true;
  changed_.notify_all();
}

void Watchdog::rest() {
  step_under_way = -1;
  const std::lock_guard lock(mutex_);
  is_at_work_ = false;
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (!is_at_work_) {
      changed_.wait(lock);
      continue;
    }
    const auto due =
        begun_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit_);
    if (changed_.wait_until(lock, due) != std::cv_status::timeout) continue;
    if (over_ || !is_at_work_ || std::chrono::steady_clock::now() < begun_ + limit_) continue;
    std::cerr << "error: train: step " << step_under_way << " has not ended after "
              << limit_.count() / 60 << " minutes: the device or its plugin hangs\n  hint: "
              << "checkpoints are good: go on from them; " << field_ << " allows more\n"
              << std::flush;
    std::_Exit(1);
  }
}

}  // namespace smelt
