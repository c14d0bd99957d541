// What is said when a device or its plugin hangs or crashes, which nothing else would tell.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace smelt {

// While it lives: a step that has not ended `limit` after it began ends the process with status 1,
// and a crash says during which step it came, and both that the checkpoints are good. One at a
// time.
class Watchdog {
 public:
  // No limit: only crashes are told. `field` sets it.
  explicit Watchdog(std::chrono::duration<double> limit, std::string field = "the limit");
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // The step is under way; the one before has ended.
  void at(std::int64_t step);
  // Nothing is that a device has to end.
  void rest();

 private:
  void watch();

  std::chrono::duration<double> limit_;
  std::string field_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point begun_;
  bool is_at_work_ = false, over_ = false;
  std::thread thread_;
};

}  // namespace smelt
