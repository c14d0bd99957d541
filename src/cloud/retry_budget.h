// How what takes minutes is waited for, and told.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "base/clock.h"

namespace smelt {

struct Patience {
  std::function<void(std::chrono::milliseconds)> wait;
  std::function<void(const std::string& line)> tell;
  std::chrono::milliseconds at_most{std::chrono::minutes(30)};  // for each operation
  std::function<Clock::time_point()> now = &Clock::now;         // measures how long requests take
};

// Sleeps; Stopped after a signal (base/stop_signal.h).
void wait_or_stop(std::chrono::milliseconds time);

// Asks again and again, after a second first and after `slowest` at last, until `ended` does not
// say false; false when it did not end in patience.at_most, which counts the waits and the time
// that `ended` takes.
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

}  // namespace smelt
