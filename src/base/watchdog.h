// What is said when a device or its plugin hangs or crashes, which nothing else would tell.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace smelt {

// What hangs when work does not end.
enum class WorkOf {
  device,    // ends the process
  store,     // ends the process: data or a store do not come or go
  compiler,  // may take its time: each `limit` that it takes is told
};

// While it lives: a step, or other work of a device or a store, that has not ended `limit` after it
// began ends the process with status 1, and a crash says during which step it came, and both that
// the checkpoints are good. Time in which the process itself was stopped (Ctrl-Z, a suspended
// machine) does not count. One at a time.
class Watchdog {
 public:
  // Work besides the steps, of any thread, while this lives; `what` it is begins the message. No
  // watchdog: nothing.
  class Watch {
   public:
    Watch(Watchdog* watchdog, const std::string& what, WorkOf of = WorkOf::device);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Watchdog* watchdog_;
    std::int64_t number_ = 0;
  };

  // Ends the process in another way, such as with the other processes of a pod. `message` says what
  // hangs. If it returns, the process ends with status 1.
  using Leave = std::function<void(const std::string& message)>;

  // A limit of 0: only crashes are told. `field` sets it.
  explicit Watchdog(std::chrono::duration<double> limit, std::string field = "the limit",
                    Leave leave = {});
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
    WorkOf of;
    std::chrono::steady_clock::time_point due;
    int limits = 1;  // that have passed when it is due
  };
  void begin(std::int64_t number, const std::string& what, WorkOf of);
  void overdue(Work& work) const;
  void watch();
  void postpone(std::chrono::steady_clock::duration time);

  std::chrono::duration<double> limit_;  // 0: none
  const std::chrono::steady_clock::time_point created_ = std::chrono::steady_clock::now();
  std::string field_;
  Leave leave_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Work> under_way_;  // kStep: the step
  std::int64_t newest_ = 0;                 // number of other work
  bool over_ = false;
  std::thread thread_;
};

}  // namespace smelt
