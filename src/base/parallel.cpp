#include "base/parallel.h"

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
      fail();  // else those that run would wait for the ones that never began
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace smelt
