#include "base/parallel.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "base/error.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace smelt {

int available_threads() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    return CPU_COUNT(&allowed);
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

namespace {

void start(std::vector<std::jthread>& running, const std::function<void(int)>& body,
           int worker) try {
  running.emplace_back(body, worker);
} catch (const std::system_error& error) {
  throw_no_thread(error);
}

}  // namespace

void throw_no_thread(const std::system_error& error) {
  throw SystemError(str("threads: no more can be started: ", error.code().message()),
                    "raise the limit of processes (`ulimit -u`), or use fewer --threads");
}

void run_parallel(int threads, const std::function<void(int)>& body,
                  const std::function<void()>& on_failure) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto fail = [&] {
    const std::lock_guard lock(mutex);
    if (!first) first = std::current_exception();
    if (on_failure) on_failure();
  };
  const auto guarded = [&](int worker) {
    try {
      body(worker);
    } catch (...) {
      fail();
    }
  };
  {
    std::vector<std::jthread> running;
    try {
      for (int worker = 0; worker < threads; ++worker) start(running, guarded, worker);
    } catch (...) {
      fail();  // otherwise the running bodies would wait for those that never started
    }
  }
  if (first) std::rethrow_exception(first);
}

void run_each(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  std::mutex mutex;
  std::size_t next = 0, failed = count;
  std::exception_ptr fault;
  const auto claim = [&] {
    const std::lock_guard lock(mutex);
    return next < failed ? next++ : count;
  };
  run_parallel(static_cast<int>(std::min(static_cast<std::size_t>(threads), count)), [&](int) {
    for (std::size_t number; (number = claim()) < count;) {
      try {
        body(number);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (number >= failed) continue;
        failed = number;
        fault = std::current_exception();
      }
    }
  });
  if (fault) std::rethrow_exception(fault);
}

}  // namespace smelt
