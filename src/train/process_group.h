// The processes that train one model together, each with devices of its own. Devices meet in their
// programs alone; all else that must be the same everywhere is said here, under a key that is used
// once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "checkpoint/storage/shared_save.h"
#include "distributed/coordination_service.h"

namespace smelt {

struct ProcessGroup {
  int rank = 0;  // as they were started; 0 leads: it alone locks, clears up and keeps the log
  int size = 1;
  Gather gather = {};  // throws where a process does not come
  // Says what this process does from now on, for when it dies or keeps the others waiting.
  std::function<void(const std::string& what)> doing = [](const std::string&) {};
  // Ends all processes with this message and kPodExit, so that they are started again. It does not
  // return. Empty: one process alone.
  std::function<void(const std::string& message)> end_all = {};

  bool several() const { return size > 1; }
  bool leads() const { return rank == 0; }

  // What the one that leads says, by `say`, which is called there alone. An Error of it is thrown
  // by all, a Stopped too. Of one process alone it is its own word. A key that begins with "alone"
  // may take it days.
  std::string told(const std::string& key, const std::function<std::string()>& say) const;
  // UsageError on all that names who differs, beginning with `what`, unless all give the same; what
  // only one side knows, a field of a JSON object, is not compared.
  void agree(const std::string& key, std::string_view what, const Json& value,
             std::string_view hint) const;
  // UsageError on all unless all see the files that the one that leads makes in this folder.
  void require_one_folder(const std::string& folder) const;
  void meet(const std::string& key) const;
  // Returns on all whether `mine` is true on any process.
  bool any(const std::string& key, bool mine) const;
  // What the one that leads does alone, while the others wait for it.
  void led(const std::string& key, const std::function<void()>& work) const;
  // The same processes, with keys of their own for another try at what they have begun.
  ProcessGroup again(std::size_t try_number) const;
};

// By a hub; the prefix begins all keys.
ProcessGroup together_of(CoordinationService& hub, const std::string& prefix);

// While it lives, train() trains together with the hub's processes, and what open_device() opens is
// told of them.
class TrainsTogether {
 public:
  explicit TrainsTogether(std::shared_ptr<CoordinationService> hub);
  ~TrainsTogether();
  TrainsTogether(const TrainsTogether&) = delete;
  TrainsTogether& operator=(const TrainsTogether&) = delete;
};
// With them, under keys that begin with this and were not given before; of one process alone
// otherwise. All processes ask alike.
ProcessGroup together_now(const std::string& what);
// Whether this process does what is done once: writes files that are no checkpoint's, prints.
bool leads_now();
// Of so many devices, those that answer what this process asks the model by itself: its first one
// where it is one of several, as a program over all of them is only run by all.
std::int64_t answering_devices(std::int64_t devices);
// UsageError that `what` is not for several processes where this is one of several.
void require_alone(const std::string& what);

}  // namespace smelt
