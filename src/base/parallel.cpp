#include "base/parallel.h"

#include <exception>
#include <thread>
#include <vector>

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

void run_parallel(int threads, const std::function<void(int)>& body,
                  const std::function<void()>& on_failure) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&](int worker) {
    try {
      body(worker);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      if (on_failure) on_failure();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int worker = 0; worker < threads; ++worker) others.emplace_back(guarded, worker);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace smelt
