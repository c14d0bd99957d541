// Waiting for operations that take minutes, with progress messages.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "base/clock.h"

namespace smelt::cloud {

// How to wait for an operation.
struct Patience {
  std::function<void(std::chrono::milliseconds)> wait;
  std::function<void(const std::string& line)> tell;            // prints a status line
  std::chrono::milliseconds at_most{std::chrono::minutes(30)};  // maximum time for each operation
  std::function<Clock::time_point()> now = &Clock::now;         // clock that measures requests
};

// Sleeps. Throws Stopped after a signal (base/stop_signal.h).
void wait_or_stop(std::chrono::milliseconds time);

// Calls `ended` until it returns true. Pauses one second first, then longer, at most `slowest`.
// Returns false if patience.at_most has passed, which counts pauses and the time of the calls.
inline bool poll_until(const Patience& patience, const std::function<bool()>& ended,
                       std::chrono::milliseconds slowest = std::chrono::seconds(10)) {
  Clock::duration waited{0};
  std::chrono::milliseconds next{1000};
  for (;;) {
    const auto began = patience.now();
    if (ended()) return true;
    waited += patience.now() - began;
    if (waited >= patience.at_most) return false;
    patience.wait(next);
    waited += next;
    next = std::min(2 * next, slowest);
  }
}

}  // namespace smelt::cloud
