#include "support/thread_limit.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <limits>

namespace {

std::atomic<int> left = std::numeric_limits<int>::max();

}  // namespace

// Replaces the C library's function and calls it.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  if (left-- <= 0) return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, start, argument);
}

namespace smelt {

ThreadLimit::ThreadLimit(int threads) { left = threads; }
ThreadLimit::~ThreadLimit() { left = std::numeric_limits<int>::max(); }

}  // namespace smelt
