// The arrays and launches of the pod's processes. As on a real pod, a program starts once each
// process that owns one of its devices has launched it; until then its results are promises.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "distributed/stand_in/programs.h"

namespace smelt::stand_in {

// Thrown to return an error to the process that made the call.
struct Failed {
  Fault fault;
};

// A copy of an array to the server's memory.
struct HostCopy {
  std::string bytes;
  std::optional<pjrt::Event> done;  // empty until the copy has started
  std::optional<Fault> fault;
};

// The future value of an array, or the future end of a launch on the devices of one process.
struct Promise {
  bool resolved = false;
  std::optional<Fault> fault = {};
  std::shared_ptr<const pjrt::Buffer> array = {};         // null for a launch's end, or if donated
  std::shared_ptr<const pjrt::Execution> execution = {};  // set for a launch's end
  std::vector<std::shared_ptr<HostCopy>> copies = {};     // started once the array exists
};

struct Launch {
  struct List {  // arguments and results of one device
    int id = 0;
    std::vector<std::uint64_t> arguments, results;
  };
  std::shared_ptr<const ServedProgram> program;
  std::int32_t number = 0;
  std::uint64_t done = 0;
  std::vector<List> lists = {};
};

class Gangs {
 public:
  Gangs(int processes) : queues_(static_cast<std::size_t>(processes)) {}

  // Starts each program once all of its processes have launched it. Never returns; call it in a
  // separate thread.
  void dispatch();

  void put(std::uint64_t value, pjrt::Buffer array);
  // Blocks while too many launches of the process are waiting to start.
  void launch(int process, Launch launch);
  void copy(std::uint64_t number, std::uint64_t value);
  std::string fetch(std::uint64_t copy);
  void drop_copy(std::uint64_t copy);
  void await(std::uint64_t promise);
  bool is_ready(std::uint64_t promise);
  void drop(const std::vector<std::uint64_t>& promises);

  // Fails all waiting launches and all later ones.
  void fail(const Fault& fault);
  // Discards all arrays and launches of the previous generation; calls that wait for them throw.
  void begin_anew();

 private:
  struct Taken {  // a launch and the promises that it keeps alive
    Launch launch;
    std::vector<std::vector<std::shared_ptr<Promise>>> arguments = {}, results = {};
    std::shared_ptr<Promise> done;
  };
  std::shared_ptr<Promise> find(std::uint64_t promise);
  std::shared_ptr<Promise> resolved(std::unique_lock<std::mutex>& lock, std::uint64_t promise);
  std::vector<Taken*> next_gang();
  void run(const std::vector<Taken*>& gang);
  void start(const std::vector<Taken*>& gang);
  static void fail(Taken& taken, const Fault& fault);
  static void begin(const Promise& promise, HostCopy& copy);
  void fail_all(const Fault& fault);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t generation_ = 0;
  std::vector<std::deque<Taken>> queues_;  // by process
  std::unordered_map<std::uint64_t, std::shared_ptr<Promise>> promises_;
  std::unordered_map<std::uint64_t, std::shared_ptr<HostCopy>> copies_;
  std::optional<Fault> broken_;
};

// Converts an error of the real plugin.
Fault fault_of(const pjrt::PjrtError& error);

}  // namespace smelt::stand_in
