// What is said when a device or its plugin hangs or crashes, which nothing else would tell.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace smelt {

// While it lives: a step, or other work of a device, that has not ended `limit` after it began ends
// the process with status 1, and a crash says during which step it came, and both that the
// checkpoints are good. One at a time.
class Watchdog {
 public:
  // Work besides the steps, of any thread, while this lives; `what` it is begins the message. No
  // watchdog: nothing.
  class Watch {
   public:
    Watch(Watchdog* watchdog, const std::string& what);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Watchdog* watchdog_;
    std::int64_t number_ = 0;
  };

  // A limit of 0: only crashes are told. `field` sets it.
  explicit Watchdog(std::chrono::duration<double> limit, std::string field = "the limit");
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // The step is under way; the one before has ended.
  void at(std::int64_t step);
  // Nothing is that a device has to end.
  void rest();

 private:
  struct Work {
    std::string what;
    std::chrono::steady_clock::time_point begun;
  };
  void begin(std::int64_t number, const std::string& what);
  void watch();

  std::chrono::duration<double> limit_;
  std::string field_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Work> under_way_;  // kStep: the step
  std::int64_t newest_ = 0;                 // number of other work
  bool over_ = false;
  std::thread thread_;
};

}  // namespace smelt
