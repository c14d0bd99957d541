// How what takes minutes is waited for, and told.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

namespace smelt {

struct Patience {
  std::function<void(std::chrono::milliseconds)> wait;
  std::function<void(const std::string& line)> tell;
  std::chrono::milliseconds at_most{std::chrono::minutes(30)};  // for each operation
};

// Sleeps; Stopped after a signal (base/stop_signal.h).
void wait_or_stop(std::chrono::milliseconds time);

// Asks again and again, after a second first and after `slowest` at last, until `ended` does not
// say false; false when it did not end in patience.at_most.
inline bool poll_until(const Patience& patience, const std::function<bool()>& ended,
                       std::chrono::milliseconds slowest = std::chrono::seconds(10)) {
  std::chrono::milliseconds waited{0}, next{1000};
  while (!ended()) {
    if (waited >= patience.at_most) return false;
    patience.wait(next);
    waited += next;
    next = std::min(2 * next, slowest);
  }
  return true;
}

}  // namespace smelt
