// A stand-in for a system that gives no more threads.
#pragma once

namespace smelt {

// While it lives, this process can start `threads` more and no other. In programs that link
// thread_limit.cpp.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
};

}  // namespace smelt
