// When a request is sent again: Google's rules for clients of its APIs (Cloud Storage, "Retry
// strategy", and truncated exponential backoff).
#pragma once

#include <chrono>

namespace smelt {

struct RetryRules {
  std::chrono::milliseconds first{1000};     // waited after the first failure
  std::chrono::milliseconds most{64'000};    // waited after any
  std::chrono::milliseconds whole{600'000};  // from the first try to the last one's start
  int tries = 32;
  // A server that no connection reaches: a wrong name, or no network, is to be said in seconds.
  int tries_to_connect = 3;
};

// Whether doing it twice is the same as doing it once.
enum class Repeat { safe, unsafe };

// 408, 429, 500, 502, 503, 504.
bool is_passing(int status);

// After the `failures`-th in a row, counted from 1: min(2^(failures - 1) + random, most / first) of
// `first`; random is in [0, 1).
std::chrono::milliseconds retry_delay(const RetryRules& rules, int failures, double random);

}  // namespace smelt
