// Ends the process with a message if a device or its plugin hangs or crashes.
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

// What does the work that is watched.
enum class WorkOf {
  device,    // a hang ends the process
  store,     // input or storage; a hang ends the process
  compiler,  // has no limit: a message is logged each time that `limit` has passed
};

// While it lives, a step or other work that has not ended after `limit` ends the process with exit
// code 1, and a crash prints the number of the step. Both messages say that the checkpoints
// are valid. Time in which the process was stopped (Ctrl-Z, a suspended machine) does not count.
// Only one may exist at a time.
class Watchdog {
 public:
  // Watches other work than steps, of any thread, while it lives; `what` begins the message. Does
  // nothing without a Watchdog.
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

  // Ends the process in another way, for example together with the other processes of a pod.
  // `message` says what hangs. If it returns, the process ends with exit code 1.
  using Leave = std::function<void(const std::string& message)>;

  // `field` is the setting that has the limit. With a limit of 0 only crashes are reported.
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
