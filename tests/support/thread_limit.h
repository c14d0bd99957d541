// Simulates a system that cannot start more threads.
#pragma once

namespace smelt {

// While it lives, this process can start only `threads` more threads. Works in programs that link
// thread_limit.cpp.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
};

}  // namespace smelt
