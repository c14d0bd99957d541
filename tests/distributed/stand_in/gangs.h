// The arrays and launches of the pod's processes. A program starts when all processes whose devices
// it has have launched it, as on a real pod; until then its results are promises.
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

// Thrown to the process that asked.
struct Failed {
  Fault fault;
};

// A copy of an array on its way to the server's memory.
struct HostCopy {
  std::string bytes;
  std::optional<pjrt::Event> done;  // empty: not begun
  std::optional<Fault> fault;
};

// An array, or the end of a launch on a process's devices.
struct Promise {
  bool resolved = false;
  std::optional<Fault> fault = {};
  std::shared_ptr<const pjrt::Buffer> array = {};         // none of a launch's end, or donated
  std::shared_ptr<const pjrt::Execution> execution = {};  // of a launch's end
  std::vector<std::shared_ptr<HostCopy>> copies = {};     // wanted as soon as it is there
};

struct Launch {
  struct List {  // of one device
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

  // For ever, on a thread of its own.
  void dispatch();

  void put(std::uint64_t value, pjrt::Buffer array);
  // Blocks while too many launches of the process have not begun.
  void launch(int process, Launch launch);
  void copy(std::uint64_t number, std::uint64_t value);
  std::string fetch(std::uint64_t copy);
  void drop_copy(std::uint64_t copy);
  void await(std::uint64_t promise);
  bool is_ready(std::uint64_t promise);
  void drop(const std::vector<std::uint64_t>& promises);

  // All that is under way, and all that comes, fails.
  void fail(const Fault& fault);
  // Nothing of what was before is left; whoever waits for it is told.
  void begin_anew();

 private:
  struct Taken {  // a launch with what it keeps alive
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

// Of what a real call threw.
Fault fault_of(const pjrt::PjrtError& error);

}  // namespace smelt::stand_in
