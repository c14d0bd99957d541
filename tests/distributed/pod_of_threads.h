// The coordination services of several ranks in one process: a thread per rank, over loopback.
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/str.h"
#include "distributed/coordination_service.h"
#include "support/server_process.h"

namespace smelt::distributed {

// Returns short timeouts for tests; only `connect` is long, because it must not expire.
inline PodTimes quick_times() {
  using std::chrono::milliseconds;
  PodTimes times;
  times.connect = milliseconds(20'000);
  times.taken = milliseconds(300);
  times.beat = milliseconds(20);
  return times;
}

class PodOfThreads {
 public:
  explicit PodOfThreads(int size, PodTimes times = quick_times())
      : size_(size), address_(str("127.0.0.1:", free_port())), times_(times), ends_(size) {}

  PodPlace place(int rank) const { return {address_, rank, size_}; }
  PodOptions options(int rank) {
    PodOptions out;
    out.times = times_;
    out.on_end = [this, rank](const PodEnd& end) {
      const std::lock_guard lock(mutex_);
      ends_[static_cast<std::size_t>(rank)].push_back(end);
    };
    return out;
  }
  // Returns the ends of the run that this rank was notified of.
  std::vector<PodEnd> ends(int rank) const {
    const std::lock_guard lock(mutex_);
    return ends_[static_cast<std::size_t>(rank)];
  }

  // Calls body(rank) on one thread per rank. Returns the error message of each, or "" without an
  // error.
  std::vector<std::string> run(const std::function<void(int rank)>& body) const {
    std::vector<std::future<std::string>> results;
    for (int rank = 0; rank < size_; ++rank)
      results.push_back(std::async(std::launch::async, [&body, rank]() -> std::string {
        try {
          body(rank);
          return {};
        } catch (const std::exception& error) {
          return error.what();
        }
      }));
    std::vector<std::string> out;
    for (auto& result : results) out.push_back(result.get());
    return out;
  }
  // Connects all ranks.
  std::vector<std::unique_ptr<CoordinationService>> connect(const PodFields& fields = {}) {
    std::vector<std::unique_ptr<CoordinationService>> hubs(static_cast<std::size_t>(size_));
    const auto errors = run([&](int rank) {
      hubs[static_cast<std::size_t>(rank)] =
          CoordinationService::connect(place(rank), fields, options(rank));
    });
    for (const auto& error : errors)
      if (!error.empty()) throw std::runtime_error(error);
    return hubs;
  }

 private:
  int size_;
  std::string address_;
  PodTimes times_;
  mutable std::mutex mutex_;
  std::vector<std::vector<PodEnd>> ends_;
};

}  // namespace smelt::distributed
