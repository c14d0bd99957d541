#include "base/watchdog.h"

#include <unistd.h>

#include <algorithm>
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
constexpr std::int64_t kStep = 0;
constexpr std::chrono::seconds kTurn{1};
constexpr std::chrono::years kLongest{1};  // longer limits would overflow the clock
std::atomic<std::int64_t> step_under_way = -1;

std::chrono::steady_clock::duration ticks(std::chrono::duration<double> of) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(of);
}

void write_out(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Prints the crash message. Async-signal-safe.
void tell_crash(int signal) {
  std::array<char, 24> digits;
  const std::int64_t step = step_under_way;
  const char* end = std::to_chars(digits.begin(), digits.end(), step).ptr;
  write_out("\nerror: train: smelt or the device's plugin crashed ");
  write_out(step < 0 ? "between two steps" : "during step ");
  if (step >= 0) write_out({digits.data(), end});
  write_out(
      "\n  hint: checkpoints are intact: resume from them, and report this if it happens again\n");
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

Watchdog::Watchdog(std::chrono::duration<double> limit, std::string field, Leave leave)
    : limit_(std::min<std::chrono::duration<double>>(limit, kLongest)),
      field_(std::move(field)),
      leave_(std::move(leave)) {
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

void Watchdog::begin(std::int64_t number, const std::string& what, WorkOf of) {
  under_way_[number] = {what, of, std::chrono::steady_clock::now() + ticks(limit_)};
  changed_.notify_all();
}

void Watchdog::at(std::int64_t step) {
  step_under_way = step;
  const std::lock_guard lock(mutex_);
  begin(kStep, str("step ", step), WorkOf::device);
}

void Watchdog::rest() {
  step_under_way = -1;
  const std::lock_guard lock(mutex_);
  under_way_.erase(kStep);
}

Watchdog::Watch::Watch(Watchdog* watchdog, const std::string& what, WorkOf of)
    : watchdog_(watchdog) {
  if (watchdog_ == nullptr) return;
  const std::lock_guard lock(watchdog_->mutex_);
  number_ = ++watchdog_->newest_;
  watchdog_->begin(number_, what, of);
}

Watchdog::Watch::~Watch() {
  if (watchdog_ == nullptr) return;
  const std::lock_guard lock(watchdog_->mutex_);
  watchdog_->under_way_.erase(number_);
}

void Watchdog::overdue(Work& work) const {
  const double minutes = limit_.count() / 60 * work.limits;
  if (work.of == WorkOf::compiler) {
    std::cerr << str("warning: train: ", work.what, " has not ended after ", minutes,
                     " minutes; it may still finish\n")
              << std::flush;
    ++work.limits;
    work.due += ticks(limit_);
    return;
  }
  const char* hung = work.of == WorkOf::store ? "the data's or the checkpoints' store hangs"
                                              : "the device or its plugin hangs";
  const std::string message =
      str("train: ", work.what, " has not ended after ", minutes, " minutes: ", hung,
          "\n  hint: checkpoints are intact: resume from "
          "them; ",
          field_, " allows more");
  std::cerr << "error: " << message << "\n" << std::flush;
  if (leave_) leave_(message);
  std::_Exit(1);
}

void Watchdog::postpone(std::chrono::steady_clock::duration time) {
  for (auto& [number, work] : under_way_) work.due += time;
}

// Waits in short intervals. If an interval ends late, the process was suspended.
void Watchdog::watch() {
  const auto due = [](const auto& numbered) { return numbered.second.due; };
  const auto turn = std::min<std::chrono::steady_clock::duration>(ticks(limit_ / 8), kTurn);
  std::unique_lock lock(mutex_);
  auto until = created_;
  while (!over_) {
    const auto now = std::chrono::steady_clock::now();
    if (now - until > turn) postpone(now - until);
    until = now + turn;
    if (const auto first = std::ranges::min_element(under_way_, {}, due);
        first != under_way_.end()) {
      if (now >= first->second.due) {
        overdue(first->second);
        continue;
      }
      until = std::min(until, first->second.due);
    }
    changed_.wait_until(lock, until);
  }
}

}  // namespace smelt
