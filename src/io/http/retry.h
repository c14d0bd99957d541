// Retry rules for requests: Google's rules for API clients (Cloud Storage, "Retry strategy",
// truncated exponential backoff).
#pragma once

#include <chrono>

namespace smelt::io {

struct RetryRules {
  std::chrono::milliseconds first{1000};     // delay after the first failure
  std::chrono::milliseconds most{64'000};    // maximum delay
  std::chrono::milliseconds whole{600'000};  // at most this long from the first attempt to the last
  int tries = 32;
  // Attempts to connect to an unreachable server. Few, so that a wrong name or a missing network is
  // reported within seconds.
  int tries_to_connect = 3;
};

// Whether a request is idempotent.
enum class Repeat { safe, unsafe };

// Returns whether an HTTP status is transient: 408, 429, 500, 502, 503 or 504.
bool is_passing(int status);

// Returns the delay after the `failures`-th consecutive failure, counted from 1: min(2^(failures -
// 1) + random, most / first) times `first`, with random in [0, 1).
std::chrono::milliseconds retry_delay(const RetryRules& rules, int failures, double random);

}  // namespace smelt::io
