// Detects devices, plugins and storage that hang, and prints a message if the process crashes.
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

// The kind of watched work. It determines what happens after the time limit.
enum class WorkOf {
  device,    // ends the process
  store,     // reading or writing of data; ends the process
  compiler,  // may take long; logs a warning each time `limit` passes
};

// Ends the process with status 1 if a step, or other watched work of a device or of storage, does
// not end within `limit`. If the process crashes, prints the current step. The messages for a hang
// and for a crash both say that checkpoints are intact. Time in which the process was suspended
// (Ctrl-Z, a sleeping machine) does not count. At most one object may exist.
class Watchdog {
 public:
  // Watches work other than steps, on any thread, while this object exists. `what` begins the
  // message. Does nothing if `watchdog` is null.
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

  // Called instead of ending the process, for example to end all processes of a pod. `message`
  // describes the hang. If it returns, the process ends with status 1.
  using Leave = std::function<void(const std::string& message)>;

  // With a limit of 0 only crashes are reported. `field` is the name of the setting of the limit,
  // for messages.
  explicit Watchdog(std::chrono::duration<double> limit, std::string field = "the limit",
                    Leave leave = {});
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Starts the timer for `step` and ends that of the previous step.
  void at(std::int64_t step);
  // Stops the timer of the current step.
  void rest();

 private:
  struct Work {
    std::string what;
    WorkOf of;
    std::chrono::steady_clock::time_point due;
    int limits = 1;  // `due` is this many limits after the start
  };
  void begin(std::int64_t number, const std::string& what, WorkOf of);
  void overdue(Work& work) const;
  void watch();
  void postpone(std::chrono::steady_clock::duration time);

  std::chrono::duration<double> limit_;  // 0: only crashes are reported
  const std::chrono::steady_clock::time_point created_ = std::chrono::steady_clock::now();
  std::string field_;
  Leave leave_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Work> under_way_;  // by the work's number; kStep: the current step
  std::int64_t newest_ = 0;                 // highest number of a Watch so far
  bool over_ = false;
  std::thread thread_;
};

}  // namespace smelt
